// What a layer table does not say of a convolution, found from what it says: kernel, channels and
// image, all square.
#pragma once
#include <cstdint>
#include <optional>

namespace steptime {

struct ConvolutionShape {
  std::int64_t channels_in = 0;
  std::int64_t channels_out = 0;
  std::int64_t kernel = 0;
  std::int64_t image_in = 0;  ///< height and width
  std::int64_t image_out = 0;
  std::int64_t stride = 1;
  std::int64_t padding = 0;  ///< on each side
};

/// From the multiply-accumulates, the inputs, outputs and weights of a convolution of one group;
/// the smallest kernel that fits all four; nothing where none does.
std::optional<ConvolutionShape> convolution_shape(std::int64_t macs, std::int64_t input,
                                                  std::int64_t output, std::int64_t weights);

}  // namespace steptime
