// Convolutions in the stand-in for cuDNN's graph interface: an operation's attributes.
#include "cudnn_graph.h"

namespace {
// The attributes of a convolution's operation: description, x, w, y, factors; and its result.
struct conv_names {
    int how, part[3], alpha, beta, result;
};
const std::map<int, conv_names> convolutions = {
    {CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
     {CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
      {CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
       CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y},
      CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
      CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA,
      2}},
    {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
     {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
      {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
       CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY},
      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA,
      0}},
    {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
     {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
      {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
       CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
       CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY},
      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA,
      1}}};

bool take_pair(const bag *b, int name, int64_t *to) {
    std::vector<int64_t> v = b->all<int64_t>(name);
    if (v.size() != 2) return false;
    return to[0] = v[0], to[1] = v[1], true;
}

} // namespace

bool finish_convolution(bag *b) {
    const conv_names &k = convolutions.at(b->type);
    op &o = b->what;
    o.kind = b->type, o.convolves = true, o.conv.result = k.result;
    bag *how = b->one<bag *>(k.how, nullptr);
    if (!how || !how->done || how->type != CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR) return false;
    int64_t post[2];
    if (how->one<int>(CUDNN_ATTR_CONVOLUTION_CONV_MODE, -1) != CUDNN_CROSS_CORRELATION ||
        how->one<int>(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, -1) != CUDNN_DATA_FLOAT ||
        how->one<int64_t>(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, 0) != 2 ||
        !take_pair(how, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, o.conv.pad) ||
        !take_pair(how, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, post) ||
        !take_pair(how, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, o.conv.stride) ||
        !take_pair(how, CUDNN_ATTR_CONVOLUTION_DILATIONS, o.conv.dilation) ||
        post[0] != o.conv.pad[0] || post[1] != o.conv.pad[1] || b->one<float>(k.alpha, 0) != 1 ||
        b->one<float>(k.beta, 1) != 0)
        return false;
    for (int i = 0; i < 3; i++) {
        bag *t = b->one<bag *>(k.part[i], nullptr);
        if (!t || !t->done || t->type != CUDNN_BACKEND_TENSOR_DESCRIPTOR) return false;
        const node_tensor &n = t->tensor;
        o.id[i] = n.id;
        o.conv.part[i] = {n.type, 4, {}, {}};
        for (int d = 0; d < 5; d++)
            o.conv.part[i].dim[d] = d < 4 ? n.dim[d] : 1,
            o.conv.part[i].stride[d] = d < 4 ? n.stride[d] : 1;
    }
    return true;
}
