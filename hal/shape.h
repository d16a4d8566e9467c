/* shape.h: the shape and dtype rules, one function per family of operations.
 *
 * A rule may rely on what wia__infer checked: counts, ranks up to WIA_MAX_RANK, no negative size,
 * the dtype of the first input, and same_dtype. It runs when a signature is met for the first time,
 * so it is written for its messages and not for speed. */
#ifndef WIA__SHAPE_H
#define WIA__SHAPE_H

#include "op.h"

wia_status_t wia__infer_same(const wia__infer_t *call);
wia_status_t wia__infer_elementwise(const wia__infer_t *call);
wia_status_t wia__infer_compare(const wia__infer_t *call);
wia_status_t wia__infer_cast(const wia__infer_t *call);
wia_status_t wia__infer_matmul(const wia__infer_t *call);
wia_status_t wia__infer_addmm(const wia__infer_t *call);
wia_status_t wia__infer_linear(const wia__infer_t *call);
wia_status_t wia__infer_conv2d(const wia__infer_t *call);
wia_status_t wia__infer_pool2d(const wia__infer_t *call);
wia_status_t wia__infer_global_pool2d(const wia__infer_t *call);
wia_status_t wia__infer_softmax(const wia__infer_t *call);
wia_status_t wia__infer_along_axis(const wia__infer_t *call);
wia_status_t wia__infer_layer_norm(const wia__infer_t *call);
wia_status_t wia__infer_batch_norm(const wia__infer_t *call);
wia_status_t wia__infer_reduce(const wia__infer_t *call);
wia_status_t wia__infer_reduce_nonempty(const wia__infer_t *call);
wia_status_t wia__infer_argmax(const wia__infer_t *call);
wia_status_t wia__infer_broadcast(const wia__infer_t *call);
wia_status_t wia__infer_transpose(const wia__infer_t *call);
wia_status_t wia__infer_reshape(const wia__infer_t *call);
wia_status_t wia__infer_concat(const wia__infer_t *call);
wia_status_t wia__infer_split(const wia__infer_t *call);
wia_status_t wia__infer_slice(const wia__infer_t *call);
wia_status_t wia__infer_glu(const wia__infer_t *call);
wia_status_t wia__infer_gather(const wia__infer_t *call);
wia_status_t wia__infer_gather_elements(const wia__infer_t *call);
wia_status_t wia__infer_gather_nd(const wia__infer_t *call);
wia_status_t wia__infer_scatter_elements(const wia__infer_t *call);
wia_status_t wia__infer_scatter_nd(const wia__infer_t *call);
wia_status_t wia__infer_index_add(const wia__infer_t *call);
wia_status_t wia__infer_sort(const wia__infer_t *call);
wia_status_t wia__infer_top_k(const wia__infer_t *call);
wia_status_t wia__infer_searchsorted(const wia__infer_t *call);
wia_status_t wia__infer_nonzero(const wia__infer_t *call);
wia_status_t wia__infer_compress(const wia__infer_t *call);
wia_status_t wia__infer_unique(const wia__infer_t *call);
wia_status_t wia__infer_trilu(const wia__infer_t *call);
wia_status_t wia__infer_diag(const wia__infer_t *call);
wia_status_t wia__infer_reverse_sequence(const wia__infer_t *call);
wia_status_t wia__infer_one_hot(const wia__infer_t *call);
wia_status_t wia__infer_bincount(const wia__infer_t *call);
wia_status_t wia__infer_bitcast(const wia__infer_t *call);
wia_status_t wia__infer_make(const wia__infer_t *call);
wia_status_t wia__infer_iota(const wia__infer_t *call);
wia_status_t wia__infer_eye(const wia__infer_t *call);
wia_status_t wia__infer_window(const wia__infer_t *call);
wia_status_t wia__infer_mel_weight_matrix(const wia__infer_t *call);
wia_status_t wia__infer_resize(const wia__infer_t *call);
wia_status_t wia__infer_affine_grid(const wia__infer_t *call);
wia_status_t wia__infer_grid_sample(const wia__infer_t *call);
wia_status_t wia__infer_roi_align(const wia__infer_t *call);
wia_status_t wia__infer_max_roi_pool(const wia__infer_t *call);
wia_status_t wia__infer_non_max_suppression(const wia__infer_t *call);
wia_status_t wia__infer_dft(const wia__infer_t *call);
wia_status_t wia__infer_stft(const wia__infer_t *call);
wia_status_t wia__infer_square(const wia__infer_t *call);
wia_status_t wia__infer_determinant(const wia__infer_t *call);
wia_status_t wia__infer_solve_triangular(const wia__infer_t *call);
wia_status_t wia__infer_stack(const wia__infer_t *call);
wia_status_t wia__infer_tile(const wia__infer_t *call);
wia_status_t wia__infer_flip(const wia__infer_t *call);
wia_status_t wia__infer_roll(const wia__infer_t *call);
wia_status_t wia__infer_depth_to_space(const wia__infer_t *call);
wia_status_t wia__infer_space_to_depth(const wia__infer_t *call);
wia_status_t wia__infer_pad(const wia__infer_t *call);
wia_status_t wia__infer_sum_to(const wia__infer_t *call);
wia_status_t wia__infer_conv2d_input_gradient(const wia__infer_t *call);
wia_status_t wia__infer_conv2d_weight_gradient(const wia__infer_t *call);
wia_status_t wia__infer_max_pool2d_gradient(const wia__infer_t *call);
wia_status_t wia__infer_avg_pool2d_gradient(const wia__infer_t *call);
wia_status_t wia__infer_gather_gradient(const wia__infer_t *call);
wia_status_t wia__infer_adaptive_max_pool_gradient(const wia__infer_t *call);
wia_status_t wia__infer_max_roi_pool_gradient(const wia__infer_t *call);
wia_status_t wia__infer_roi_align_gradient(const wia__infer_t *call);
wia_status_t wia__infer_grid_sample_gradient(const wia__infer_t *call);
wia_status_t wia__infer_resize_gradient(const wia__infer_t *call);
wia_status_t wia__infer_deform_conv_gradient(const wia__infer_t *call);
wia_status_t wia__infer_recurrent_gradient(const wia__infer_t *call);
wia_status_t wia__infer_einsum_gradient(const wia__infer_t *call);
wia_status_t wia__infer_einsum(const wia__infer_t *call);
wia_status_t wia__infer_gemm(const wia__infer_t *call);
wia_status_t wia__infer_matmul_integer(const wia__infer_t *call);
wia_status_t wia__infer_qlinear_matmul(const wia__infer_t *call);
wia_status_t wia__infer_conv(const wia__infer_t *call);
wia_status_t wia__infer_conv_transpose(const wia__infer_t *call);
wia_status_t wia__infer_conv_integer(const wia__infer_t *call);
wia_status_t wia__infer_qlinear_conv(const wia__infer_t *call);
wia_status_t wia__infer_deform_conv(const wia__infer_t *call);
wia_status_t wia__infer_pool(const wia__infer_t *call);
wia_status_t wia__infer_global_pool(const wia__infer_t *call);
wia_status_t wia__infer_im2col(const wia__infer_t *call);
wia_status_t wia__infer_col2im(const wia__infer_t *call);
wia_status_t wia__infer_max_unpool(const wia__infer_t *call);
wia_status_t wia__infer_adaptive_pool(const wia__infer_t *call);
wia_status_t wia__infer_group_norm(const wia__infer_t *call);
wia_status_t wia__infer_batch_norm_training(const wia__infer_t *call);
wia_status_t wia__infer_layer_norm_with_stats(const wia__infer_t *call);
wia_status_t wia__infer_lrn(const wia__infer_t *call);
wia_status_t wia__infer_mean_variance_norm(const wia__infer_t *call);
wia_status_t wia__infer_masked(const wia__infer_t *call);
wia_status_t wia__infer_masked_softmax(const wia__infer_t *call);
wia_status_t wia__infer_dropout(const wia__infer_t *call);
wia_status_t wia__infer_attention(const wia__infer_t *call);
wia_status_t wia__infer_multi_head_attention(const wia__infer_t *call);
wia_status_t wia__infer_rotary_embedding(const wia__infer_t *call);
wia_status_t wia__infer_kv_cache_update(const wia__infer_t *call);
wia_status_t wia__infer_recurrent(const wia__infer_t *call);
wia_status_t wia__infer_recurrent_cell(const wia__infer_t *call);
wia_status_t wia__infer_embedding(const wia__infer_t *call);
wia_status_t wia__infer_embedding_bag(const wia__infer_t *call);
wia_status_t wia__infer_loss(const wia__infer_t *call);
wia_status_t wia__infer_class_loss(const wia__infer_t *call);
wia_status_t wia__infer_cosine_similarity(const wia__infer_t *call);
wia_status_t wia__infer_step(const wia__infer_t *call);
wia_status_t wia__infer_multinomial(const wia__infer_t *call);
wia_status_t wia__infer_quantize(const wia__infer_t *call);
wia_status_t wia__infer_dequantize(const wia__infer_t *call);
wia_status_t wia__infer_dynamic_quantize(const wia__infer_t *call);
wia_status_t wia__infer_fake_quantize(const wia__infer_t *call);

/* -- what rules are made of -------------------------------------------------------------------- */

/* Whether an input is there. */
static inline bool wia__has_input(const wia__infer_t *call, uint32_t index) {
  return index < call->input_count && call->inputs[index].dtype != WIA_DTYPE_NONE;
}

/* Writes the first output, or the one of an index, after the check that every result needs: that its
 * bytes can be counted. */
wia_status_t wia__set_output(const wia__infer_t *call, wia_dtype_t dtype, const int64_t *shape,
                             uint32_t rank);
wia_status_t wia__set_output_at(const wia__infer_t *call, uint32_t index, wia_dtype_t dtype,
                                const int64_t *shape, uint32_t rank);

/* The first output is like an input. */
wia_status_t wia__set_output_like(const wia__infer_t *call, uint32_t input);

/* That an input has a rank in a range; exactly a shape; a dtype. */
wia_status_t wia__expect_rank(const wia__infer_t *call, uint32_t index, uint32_t minimum,
                              uint32_t maximum);
wia_status_t wia__expect_shape(const wia__infer_t *call, uint32_t index, const int64_t *shape,
                               uint32_t rank);
wia_status_t wia__expect_dtype(const wia__infer_t *call, uint32_t index, wia_dtype_t expected);

/* The dimension that an axis names, counted from the last when negative. */
wia_status_t wia__expect_axis(const wia__infer_t *call, const char *name, int64_t axis,
                              uint32_t rank, uint32_t *out_axis);

/* The dimensions that a list of axes names, as bits; all of them when it is empty. */
wia_status_t wia__expect_axes(const wia__infer_t *call, const char *name, uint32_t rank,
                              uint32_t *out_axes);

/* Writes the first output: the matrix product of two inputs by numpy's rules of rank. */
wia_status_t wia__set_product(const wia__infer_t *call, uint32_t left, uint32_t right,
                              wia_dtype_t dtype);

/* The same for the attribute axis. */
wia_status_t wia__read_axis(const wia__infer_t *call, uint32_t rank, uint32_t *out_axis);

/* The dimension that the attribute axis adds to a rank. */
wia_status_t wia__new_axis(const wia__infer_t *call, uint32_t rank, uint32_t *out_axis);

/* The shape that the caller wants: the attribute shape, else that of the first output. */
wia_status_t wia__wanted_shape(const wia__infer_t *call, wia_shape_t *out_target);

/* The dtype that the caller wants: the attribute dtype, else that of the first output. */
wia_status_t wia__wanted_dtype(const wia__infer_t *call, wia_dtype_t *out_dtype);

/* The elements of a shape, which a result has a dimension for. */
wia_status_t wia__count_elements(const wia__infer_t *call, const wia_shape_t *shape,
                                 int64_t *out_count);

/* Broadcasts b's shape into a's, by numpy's rules. False: they don't go together. */
bool wia__broadcast_shape(wia_shape_t *a, const int64_t *shape, uint32_t rank);

/* The dtype of a sum of products: int32 for 8-bit integers, else that of the operands. */
wia_dtype_t wia__product_dtype(wia_dtype_t dtype);

#endif
