TP=${TP:-2}
ARGS=(
    --num-layers 4 --hidden-size 64 --num-attention-heads 4 "--split '9,1'"
    --tensor-model-parallel-size $TP --swiglu --micro-batch-size 1 --seq-length 16
)
torchrun --nproc_per_node $((TP * 2)) --nnodes 1 pretrain.py ${ARGS[@]} --vocab-size=64 \
    --global-batch-size 4
