#pragma once

#include <stdint.h>

// The kernels of a GPU module and the parameters of each: plain C structs of device pointers, sizes and
// numbers. Pointers are to contiguous memory of the launch's dtype unless said otherwise. n elements, N rows,
// D elements a row; any count may be 0. Kernels stride over their work where their comment names no grid, so
// any grid is right; where it names one, the launch must have it. What each computes: core/tensor/kernels.h.

#ifdef __cplusplus
extern "C" {
#endif

enum MeshscopeGpuDType {
    MESHSCOPE_FLOAT32,
    MESHSCOPE_BFLOAT16,
    MESHSCOPE_INT32,
    MESHSCOPE_INT64,
    MESHSCOPE_UINT8,
    MESHSCOPE_FLOAT16
}; /* in the order of meshscope::DType */

enum MeshscopeGpuReduction {
    MESHSCOPE_REDUCE_SUM,
    MESHSCOPE_REDUCE_PRODUCT,
    MESHSCOPE_REDUCE_MIN,
    MESHSCOPE_REDUCE_MAX,
    MESHSCOPE_REDUCE_BAND,
    MESHSCOPE_REDUCE_BOR,
    MESHSCOPE_REDUCE_BXOR
};

enum MeshscopeGpuKernel {
    /* MeshscopeElements */
    MESHSCOPE_KERNEL_FILL,               /* out = number */
    MESHSCOPE_KERNEL_CAST,               /* out = a, whose dtype is `from` */
    MESHSCOPE_KERNEL_SCALE,              /* out = number · a (float16 too) */
    MESHSCOPE_KERNEL_DIVIDE,             /* out = a / number (float16 too) */
    MESHSCOPE_KERNEL_AXPY,               /* out = number · a + out */
    MESHSCOPE_KERNEL_ADD,                /* out = a + b (float16 too) */
    MESHSCOPE_KERNEL_ADD_ROWS,           /* out = a + b, b a row of `width` */
    MESHSCOPE_KERNEL_MULTIPLY,           /* out = a · b */
    MESHSCOPE_KERNEL_RELU,               /* out of a */
    MESHSCOPE_KERNEL_RELU_BACKWARD,      /* out = dx, a = dy, b = y */
    MESHSCOPE_KERNEL_GELU_TANH,          /* out of a */
    MESHSCOPE_KERNEL_GELU_TANH_BACKWARD, /* out = dx, a = dy, b = x */
    MESHSCOPE_KERNEL_GELU,               /* as GELU_TANH */
    MESHSCOPE_KERNEL_GELU_BACKWARD,
    MESHSCOPE_KERNEL_SILU_MUL,      /* out of gate a, up b */
    MESHSCOPE_KERNEL_SILU_BACKWARD, /* out = dgate, out2 = dup, a = dy, b = gate, c = up */
    MESHSCOPE_KERNEL_MSE_BACKWARD,  /* out = dprediction, a = prediction, b = target, c = dloss, both float32
                                     */
    /* MeshscopeReduce: all dtypes */
    MESHSCOPE_KERNEL_REDUCE,
    /* MeshscopeColumns; block (32, 8), grid (⌈D/32⌉, slices) */
    MESHSCOPE_KERNEL_COLUMN_SUMS,  /* out (D) = Σ rows of dy */
    MESHSCOPE_KERNEL_NORM_WEIGHT,  /* out = dw, out2 = db or null */
    MESHSCOPE_KERNEL_COLUMN_TOTAL, /* the slices' sums to out and out2; a thread a column, any grid */
    /* MeshscopeTotal: a sum in double, by partial sums of the blocks and then one block over these */
    MESHSCOPE_KERNEL_SQUARES,       /* partial[block] = its share of Σ x² */
    MESHSCOPE_KERNEL_SQUARED_ERROR, /* partial[block] = its share of Σ (x - target)² */
    MESHSCOPE_KERNEL_TOTAL,         /* *total = Σ partial; *loss, of the dtype, = factor · that; grid 1 */
    /* MeshscopeIndices */
    MESHSCOPE_KERNEL_CHECK_INDICES, /* grid 1: notes the first bad index in `note`, if it is empty */
    MESHSCOPE_KERNEL_EMBEDDING,
    MESHSCOPE_KERNEL_EMBEDDING_BACKWARD, /* grid (N, ⌈D / block x⌉); dtable is zero or holds a gradient */
    /* MeshscopeNorm; a block a row, grid x N */
    MESHSCOPE_KERNEL_LAYER_NORM,
    MESHSCOPE_KERNEL_LAYER_NORM_BACKWARD,
    MESHSCOPE_KERNEL_RMS_NORM,
    MESHSCOPE_KERNEL_RMS_NORM_BACKWARD,
    /* MeshscopeRotary */
    MESHSCOPE_KERNEL_ROTARY,
    /* MeshscopeAttention */
    MESHSCOPE_KERNEL_ATTENTION,       /* grid (⌈q_tokens / 16⌉, heads, batch), block 128 */
    MESHSCOPE_KERNEL_ATTENTION_DELTA, /* delta = Σ dout · o of each row */
    MESHSCOPE_KERNEL_ATTENTION_DQ,    /* grid as ATTENTION */
    MESHSCOPE_KERNEL_ATTENTION_DKDV,  /* grid (⌈k_tokens / 16⌉, kv_heads, batch), block 128 */
    MESHSCOPE_KERNEL_ATTENTION_MERGE, /* float32: q = block_o, lse2 = block_lse; a block a row */
    /* MeshscopeEntropy; a block a row, grid x N, where it reads logits */
    MESHSCOPE_KERNEL_CROSS_ENTROPY, /* lse and losses (double) of each row */
    MESHSCOPE_KERNEL_CROSS_ENTROPY_BACKWARD,
    MESHSCOPE_KERNEL_ROW_MAX,          /* largest */
    MESHSCOPE_KERNEL_ROW_SUM_EXP,      /* sums, of largest */
    MESHSCOPE_KERNEL_PICK_TARGETS,     /* picked */
    MESHSCOPE_KERNEL_ENTROPY_OF_PARTS, /* lse and losses of largest, sums, picked */
    /* MeshscopeSgd, MeshscopeAdam: float32 */
    MESHSCOPE_KERNEL_SGD,
    MESHSCOPE_KERNEL_ADAM, /* all parts in one launch */
    /* MeshscopeBatchNorm: float32; a thread a column, rows first to last, in double */
    MESHSCOPE_KERNEL_BATCH_NORM_STATS,           /* out = a part's statistics of x */
    MESHSCOPE_KERNEL_BATCH_NORM_GATHER_STATS,    /* out = mean, out2 = invstd of statistics */
    MESHSCOPE_KERNEL_BATCH_NORM_ELEMT,           /* out = y; a thread an element */
    MESHSCOPE_KERNEL_BATCH_NORM_BACKWARD_REDUCE, /* out = sums, out2 = dw, out3 = db */
    MESHSCOPE_KERNEL_BATCH_NORM_BACKWARD_ELEMT,  /* out = dx of sums; a thread an element */
    MESHSCOPE_KERNELS
};

typedef struct {
    void *out, *out2;
    const void *a, *b, *c;
    int64_t n, width;
    double number;
    int32_t from; /* MeshscopeGpuDType of a */
} MeshscopeElements;

enum { MESHSCOPE_MOST_SOURCES = 64 };

/// out = ((sources[0] ∘ sources[1]) ∘ sources[2]) …, then / divisor unless that is 0; computed in float32 for
/// floats, rounded once at the end. Integers wrap around; MIN and MAX give NaN when one is NaN. out may be a
/// source. As core/comm/reduce.h.
typedef struct {
    void* out;
    const void* sources[MESHSCOPE_MOST_SOURCES];
    int64_t n;
    int32_t n_sources; /* at least 1 */
    int32_t reduction; /* MeshscopeGpuReduction; the bitwise ones for integers only */
    int32_t divisor;   /* floats only */
} MeshscopeReduce;

/// Slice y of the grid has `slice_rows` rows; lane y of a block sums every eighth of them, then the eight
/// sums are added, 0 first, and at last the slices', 0 first. One slice writes out and out2 itself, more
/// write `partial`.
typedef struct {
    void *out, *out2;
    const void *dy, *x;
    const float *mean, *rstd; /* mean may be null: 0 */
    float* partial;           /* (slices, 2, width), or null where slices is 1 */
    int64_t rows, width, slices, slice_rows;
    int32_t accumulate; /* of bfloat16: the gradient is rounded before it is added */
} MeshscopeColumns;

typedef struct {
    const void* x;
    const float* target;
    double* partial;
    double* total; /* may be null */
    void* loss;    /* may be null */
    int64_t n;     /* TOTAL: of partial */
    double factor;
} MeshscopeTotal;

/* tensor::kIgnoredTarget */
#define MESHSCOPE_IGNORED_TARGET (-100)

/// What the first bad index was; zeros: none yet.
typedef struct {
    int64_t call; /* as numbered by who launched */
    int64_t index;
} MeshscopeIndexNote;

typedef struct {
    const int64_t* indices;
    void* y;           /* forward: y; backward: dtable */
    const void* table; /* forward: table; backward: dy */
    MeshscopeIndexNote* note;
    int64_t n, width, table_rows;
    int64_t first; /* of the table's rows among the indices; others become zero */
    int64_t call;
    int32_t accumulate;
    int32_t may_be_ignored; /* check: MESHSCOPE_IGNORED_TARGET is none of the wrong ones */
} MeshscopeIndices;

typedef struct {
    void* out; /* y or dx */
    const void *x, *dy, *weight, *bias;
    float *mean, *rstd;
    int64_t rows, width;
    double eps;
} MeshscopeNorm;

typedef struct {
    void* out;
    const void* in;
    const int64_t* positions; /* or null */
    int64_t batch, tokens, heads, head_dim, first_position;
    double theta;
    double factor, low_freq_factor, high_freq_factor, original_tokens; /* of the scaling */
    int32_t scaling;                                                   /* 0 none, 1 linear, 2 llama3 */
    int32_t halves; /* element i is paired with i + head_dim / 2, not 2i with 2i + 1 */
    int32_t inverse;
} MeshscopeRotary;

enum { MESHSCOPE_ATTENTION_ROWS = 16, MESHSCOPE_ATTENTION_MOST_HEAD_DIM = 256 };

typedef struct {
    void *o, *dq, *dk, *dv; /* forward and merge write o */
    const void *q, *k, *v, *dout, *o_in;
    float *lse, *delta;
    const float* lse2;
    const int64_t *q_positions, *k_positions; /* or null */
    int64_t batch, q_tokens, k_tokens, heads, kv_heads, head_dim;
    int64_t window; /* of the keys before a query, with itself; 0: all */
    float scale;
    int32_t causal;
    int32_t tile; /* keys (DKDV: queries) at a time, at most 32; shared bytes: gpu_launch.h */
} MeshscopeAttention;

typedef struct {
    void* dlogits;
    const void *logits, *dloss;
    const int64_t* targets;
    float *lse, *largest, *sums, *picked;
    double* losses;
    double divisor;
    int64_t rows, classes, first;
    /* backward, bfloat16: log p and dloss / divisor are rounded, as PyTorch's two operations do */
    int32_t whole;
    int32_t float_loss; /* the loss is float32 whatever the logits are */
} MeshscopeEntropy;

typedef struct {
    float *value, *buffer; /* buffer: null without momentum */
    const float* grad;
    int64_t n;
    float lr, momentum, weight_decay;
    int32_t first;
} MeshscopeSgd;

/// One parameter's arrays. Chunks of MESHSCOPE_ADAM_CHUNK elements are counted over all parts; `first_chunk`
/// is this part's.
typedef struct {
    float *value, *m, *v;
    const float* grad;
    int64_t n, first_chunk;
} MeshscopeAdamPart;

enum { MESHSCOPE_ADAM_CHUNK = 2048 };

/// Blocks stride over the chunks.
typedef struct {
    const MeshscopeAdamPart* parts; /* on the device, in order of first_chunk; each has at least one */
    int64_t n_parts, n_chunks;
    float keep;         /* value is multiplied by it first: 1 - lr · weight_decay where decoupled, else 1 */
    float weight_decay; /* added to the gradient; 0 where decoupled */
    float beta1_rest, beta2, beta2_rest; /* 1 - β1, β2, 1 - β2 */
    float step_size;                     /* lr / (1 - β1ᵗ) */
    float root_correction;               /* √(1 - β2ᵗ) */
    float eps;
} MeshscopeAdam;

typedef struct {
    float *out, *out2, *out3;
    float *running_mean, *running_var;
    const float *x, *dy, *mean, *invstd, *weight, *bias, *sums, *statistics;
    int64_t rows, width;
    int64_t parts;    /* of statistics */
    int64_t all_rows; /* of all parts */
    double momentum, eps;
} MeshscopeBatchNorm;

#ifdef __cplusplus
}
#endif
