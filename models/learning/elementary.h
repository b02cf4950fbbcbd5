// exp and log from additions, products and exact scalings alone: the C library's may differ in the
// last bit from one library, or one processor, to the next, and training would carry that on.
//
// Scope: exp of anything (0 below -745, infinity above 709.7); log of positive numbers. Within 1
// and 3 units in the last place.
#pragma once

namespace steptime {

double portable_exp(double x);
double portable_log(double x);

}  // namespace steptime
