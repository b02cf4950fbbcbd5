#include "calibration/shapes.h"

#include "models/layer_table.h"

#include <gtest/gtest.h>

namespace steptime {
namespace {

// ResNet-50's first: 7 x 7 over 3 channels of 224 x 224, stride 2, padding 3, to 64 of 112 x 112.
TEST(ConvolutionShape, FollowsFromWorkAndSizes) {
  const auto shape = convolution_shape(118013952, 150528, 802816, 9408);
  ASSERT_TRUE(shape);
  EXPECT_EQ(shape->kernel, 7);
  EXPECT_EQ(shape->channels_in, 3);
  EXPECT_EQ(shape->channels_out, 64);
  EXPECT_EQ(shape->image_in, 224);
  EXPECT_EQ(shape->image_out, 112);
  EXPECT_EQ(shape->stride, 2);
  EXPECT_EQ(shape->padding, 3);
  EXPECT_FALSE(convolution_shape(7, 3, 5, 2));
}

TEST(ConvolutionShape, IsFoundForEveryConvolutionOfTheModelsThatAreTimed) {
  for (const char* model : {"torch/resnet50", "caffe/resnet50", "caffe/vgg16"}) {
    for (const TableLayer& layer : read_layer_table(find_layer_table(model)).layers) {
      if (layer.kind != LayerKind::kConvolution) continue;
      const auto shape = convolution_shape(layer.macs, layer.input, layer.output, layer.weights());
      ASSERT_TRUE(shape) << model << " " << layer.name;
      EXPECT_EQ(layer.weights(),
                shape->kernel * shape->kernel * shape->channels_in * shape->channels_out);
      EXPECT_EQ(layer.macs, layer.weights() * shape->image_out * shape->image_out);
    }
  }
}

}  // namespace
}  // namespace steptime
