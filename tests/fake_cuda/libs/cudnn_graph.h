// Descriptors of the stand-in for cuDNN's graph interface, shared by its files.
#ifndef FAKE_CUDNN_GRAPH_H
#define FAKE_CUDNN_GRAPH_H

#include <cstring>
#include <map>
#include <memory>
#include <vector>

#include "dnn.h"

struct node_tensor {
    int64_t id = 0, dim[4], stride[4], align = 0;
    cudnnDataType_t type = CUDNN_DATA_FLOAT;
    bool inner = false, number = false;
    int64_t span() const {
        int64_t n = 1;
        for (int d = 0; d < 4; d++) n += (dim[d] - 1) * stride[d];
        return n;
    }
    int64_t at(const int64_t *i) const {
        int64_t p = 0;
        for (int d = 0; d < 4; d++) p += (dim[d] == 1 ? 0 : i[d]) * stride[d];
        return p;
    }
};
struct op {
    int kind = 0; // its descriptor's type
    int mode = 0, axis = 0;
    node_tensor in[3], out; // x b t, or a b
    int inputs = 0;
    bool convolves = false;
    fake_conv_op conv;
    int64_t id[3]; // of its parts
};
struct graph {
    std::vector<op> ops;
    bool handle = false;
};
struct bag {
    int type;
    bool done = false;
    std::map<int, std::vector<char>> attr;
    node_tensor tensor;
    op what;
    std::shared_ptr<graph> whole;
    bool varies = false;
    template <class T> std::vector<T> all(int name) const {
        auto i = attr.find(name);
        if (i == attr.end()) return {};
        std::vector<T> v(i->second.size() / sizeof(T));
        memcpy(v.data(), i->second.data(), v.size() * sizeof(T));
        return v;
    }
    template <class T> T one(int name, T otherwise) const {
        std::vector<T> v = all<T>(name);
        return v.size() == 1 ? v[0] : otherwise;
    }
};

// Reads the attributes of a convolution's operation into b->what; false: they are not cuDNN's.
bool finish_convolution(bag *b);

#endif
