#include "calibration/shapes.h"

#include <cmath>

namespace steptime {
namespace {

/// The whole number whose square it is, or 0.
std::int64_t root(std::int64_t square) {
  const auto side = std::llround(std::sqrt(static_cast<double>(square)));
  return side * side == square ? side : 0;
}

}  // namespace

std::optional<ConvolutionShape> convolution_shape(std::int64_t macs, std::int64_t input,
                                                  std::int64_t output, std::int64_t weights) {
  if (weights <= 0 || macs % weights != 0) return std::nullopt;
  const std::int64_t pixels = macs / weights;  // of the output: each uses every weight once
  const std::int64_t image_out = root(pixels);
  if (image_out == 0 || output % pixels != 0) return std::nullopt;
  const std::int64_t channels_out = output / pixels;
  for (const std::int64_t kernel : {1, 3, 5, 7, 11}) {
    const std::int64_t per_channel = kernel * kernel * channels_out;
    if (weights % per_channel != 0) continue;
    const std::int64_t channels_in = weights / per_channel;
    if (input % channels_in != 0) continue;
    const std::int64_t image_in = root(input / channels_in);
    if (image_in < image_out) continue;
    const std::int64_t stride = (image_in + image_out - 1) / image_out;
    // What makes (image + 2 padding - kernel) / stride + 1, rounded down, the output's image.
    for (std::int64_t padding = 0; padding <= kernel / 2; ++padding) {
      if ((image_in + 2 * padding - kernel) / stride + 1 == image_out &&
          image_in + 2 * padding >= kernel)
        return ConvolutionShape{channels_in, channels_out, kernel, image_in,
                                image_out,   stride,       padding};
    }
  }
  return std::nullopt;
}

}  // namespace steptime
