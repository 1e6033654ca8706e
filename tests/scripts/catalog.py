"""Every script of the corpus, and what is expected of it.

The numbers of steps are those of the plain script in single precision. `split` says what becomes
of the script's root modules under Rubato:

all     calls are split, and nothing is said against it
part    the root is not split (the reason is told), but modules inside it are
none    nothing is split, and the reason is told
any     may be either; only the result counts
"""

from dataclasses import dataclass
from typing import Dict, List, Tuple


@dataclass(frozen=True)
class Entry:
    """One script; `name` is its path without `.py`."""

    name: str
    steps: int
    split: str = "all"
    reason: str = ""  # A piece of what is told where calls are not split.
    exit_code: int = 0
    runs: Tuple[Tuple[str, ...], ...] = ((),)  # Arguments of runs in one folder, in turn.
    files: Tuple[str, ...] = ()  # Patterns of the files it writes.
    is_quick: bool = False  # Part of `make test`.
    is_random: bool = False  # Forward draws random numbers: the band is statistical.
    is_sharp: bool = True  # In double precision only rounding of the last digits is left.
    # More than others on how a batch is cut: gradients of 16 bits, searches along a line.
    depends_on_parts: bool = False
    reorder: str = "loader"  # How samples of a batch can be reversed: loader, inputs or none.
    ignored: Tuple[str, ...] = ()  # What of the output changes from run to run.


DATA = [
    Entry("data/augment_random", 56),
    Entry("data/background_thread", 80, reorder="inputs", files=("steps.log",)),
    Entry("data/collate_two_workers", 52),
    Entry("data/endless_generator", 80),
    Entry("data/get_batch", 60, reorder="none", ignored=(r"took [0-9.]+s",)),
    Entry("data/iterable_dataset", 72),
    Entry("data/next_iterator", 85),
    Entry("data/own_sampler", 78),
    Entry("data/policy_gradient", 24, reorder="none"),
    Entry("data/prefetching_loader", 32),
    Entry("data/synthetic_data", 80, reorder="inputs"),
    Entry("data/weighted_sampler", 72),
    Entry("data/zip_two_loaders", 76, is_quick=True),
    Entry("data/actor_critic", 20, split="any", reorder="none"),
    Entry("data/curriculum", 55, split="any"),
    Entry("data/detection_targets", 40, split="any", reorder="none"),
    Entry("data/numpy_batches", 60, split="any", reorder="inputs"),
    Entry("data/replay_buffer", 47, split="any", reorder="none"),
]

FILES = [
    Entry("files/dated_run_folder", 75, files=("runs/run-*/log.txt", "runs/run-*/model.pt")),
    Entry("files/early_stopping_best", 90, files=("best.pt", "last.pt"), is_quick=True),
    Entry("files/open_file_checkpoint", 50,
          files=("batches.csv", "best.pt", "config.json", "metrics.jsonl")),
    Entry("files/resume_checkpoint", 65, runs=(("--stop-after", "2"), ()),
          files=("checkpoint.pt",)),
    Entry("files/reload_best", 21, split="any", reorder="inputs", files=("best.pt", "run.log")),
]

LOOPS = [
    Entry("loops/argparse_logging_bar", 56, files=("train.log",)),
    Entry("loops/break_on_loss", 102),
    Entry("loops/exit_three", 80, exit_code=3, files=("failed.txt",), is_quick=True),
    Entry("loops/inference_mode_eval", 50),
    Entry("loops/kfold", 96),
    Entry("loops/noam_private_counter", 60, is_sharp=False),
    Entry("loops/onecycle_per_batch", 72),
    Entry("loops/plateau_epoch_mean", 84),
    Entry("loops/pretrain_finetune", 99),
    Entry("loops/project_layout/train", 60),
    Entry("loops/raises_error", 48, exit_code=1),
    Entry("loops/rate_from_enumerate", 80),
    Entry("loops/slow_exit", 60, files=("results.json",)),
    Entry("loops/stop_after_steps", 90),
    Entry("loops/trainer_callbacks", 75, files=("best.pt", "history.json")),
    Entry("loops/grid_search", 128, split="any", reorder="inputs"),
    Entry("loops/hf_trainer", 24, split="any",
          files=("output/checkpoint-*/args.json", "output/checkpoint-*/model.pt")),
    Entry("loops/lr_finder", 75, split="any"),
    Entry("loops/timm_style", 40, split="any", files=("summary.csv",)),
]

LOSSES = [
    Entry("losses/class_weights", 80),
    Entry("losses/contrastive_infonce", 65, is_quick=True),
    Entry("losses/fgsm_adversarial", 52),
    Entry("losses/gradient_penalty", 40, reorder="none", is_quick=True),
    Entry("losses/hf_style_loss", 60, split="part", reason="output 0", is_sharp=False),
    Entry("losses/ignore_index", 70, is_quick=True),
    Entry("losses/retain_graph_twice", 44),
    Entry("losses/siamese_nested", 48),
    Entry("losses/sum_loss", 72),
    Entry("losses/topk_hard", 70),
    Entry("losses/clip_two_towers", 40, split="any", reorder="none"),
    Entry("losses/ctc_speech", 40, split="any", reorder="none"),
    Entry("losses/distillation", 80, split="any"),
    Entry("losses/physics_informed", 40, split="any", reorder="inputs"),
    Entry("losses/unet_weight_map", 40, split="any"),
]

MODULES = [
    Entry("modules/activation_checkpoint", 52, split="any"),
    Entry("modules/autocast_bf16", 40, is_sharp=False, depends_on_parts=True),
    Entry("modules/batch_mean_forward", 60, split="part", reason="output 0"),
    Entry("modules/batchnorm_convnet", 52, is_quick=True),
    Entry("modules/batchnorm_dropout", 100, is_random=True, is_sharp=False),
    Entry("modules/cnn_classifier", 76, is_quick=True),
    Entry("modules/data_parallel", 64, files=("model.pth",)),
    Entry("modules/ddp_one_process", 60, split="any"),
    Entry("modules/equal_dimensions", 48, reorder="none"),
    Entry("modules/forward_counter", 75, split="part", reason="forward changes"),
    Entry("modules/global_temperature", 75),
    Entry("modules/graph_network", 60, split="any", reorder="none"),
    Entry("modules/keyword_dict_inputs", 75, is_quick=True),
    Entry("modules/mixture_of_experts", 64, split="any"),
    Entry("modules/moco_queue", 60, split="part", reason="forward changes", is_quick=True),
    Entry("modules/module_hooks", 60, split="any", reason="hook"),
    Entry("modules/pruning_weight_norm", 75, split="any", reason="hook"),
    Entry("modules/scripted_module", 60, split="any", files=("scripted.ts",)),
    Entry("modules/vae_noise", 72, is_random=True, is_sharp=False),
    Entry("modules/wide_and_deep", 60),
    Entry("modules/conditional_branches", 60, split="any", reorder="inputs"),
    Entry("modules/custom_function", 64, split="any", reorder="inputs"),
    Entry("modules/diffusion", 50, split="any", reorder="inputs"),
    Entry("modules/flow_actnorm", 60, split="any", reorder="inputs"),
    Entry("modules/forward_closures", 60, split="any", reorder="inputs"),
    Entry("modules/functional_model", 40, split="any", reorder="none"),
    Entry("modules/graph_batches", 50, split="any", reorder="none"),
    Entry("modules/lazy_layers", 50, split="any", reorder="inputs", files=("whole.pt",)),
    Entry("modules/multi_task", 40, split="any"),
    Entry("modules/networks_in_dict", 60, split="any", reorder="inputs"),
    Entry("modules/perceptual_hooks", 50, split="any", reorder="none"),
    Entry("modules/spectral_norm", 60, split="any", reorder="inputs"),
    Entry("modules/traced_module", 50, split="any", reorder="inputs", files=("traced.ts",)),
    Entry("modules/vq_codebook", 64, split="any", reorder="inputs"),
    Entry("modules/complex_outputs", 60, split="any", reorder="none"),
    Entry("modules/distill_same_module", 70, split="any",
          reorder="none"),
    Entry("modules/debug_prints", 50, split="any", reason="forward prints", reorder="none",
          files=("forward.log",)),
    Entry("modules/ghost_norm", 75, split="any", reason="forward changes the buffer",
          reorder="none"),
    Entry("modules/gradcam_hook", 50, split="any", reason="forward changes", reorder="none"),
    Entry("modules/mae_shared_mask", 80, split="any", reason="all samples share",
          is_random=True, is_sharp=False, reorder="none"),
    Entry("modules/norm_act_subclass", 60, split="any", reason="forward changes the buffer"),
    Entry("modules/where_batch_mean", 60, split="any",
          reorder="inputs"),
    Entry("modules/zero_gate_seq_first", 60, split="any", reorder="none"),
]

SEQUENCES = [
    Entry("sequences/dropout_transformer", 60, is_random=True, is_sharp=False),
    Entry("sequences/fixed_zero_state", 75, split="part", reason="cannot be computed alone"),
    Entry("sequences/lm_accumulation", 24),
    Entry("sequences/lstm_carried_state", 90, reorder="none", is_quick=True),
    Entry("sequences/lstm_cell_loop", 45, split="any", reorder="none"),
    Entry("sequences/lstm_state_cut", 66, reorder="none"),
    Entry("sequences/seq2seq_two_roots", 36, reorder="inputs"),
    Entry("sequences/seq_first_rnn", 50, reorder="none"),
    Entry("sequences/tied_weights", 54, files=("tied.pt",)),
    Entry("sequences/packed_lengths", 39, split="any", reorder="none"),
    Entry("sequences/small_gpt", 30, split="any", reorder="inputs"),
    Entry("sequences/teacher_forcing", 24, split="any", reorder="none"),
]

UPDATES = [
    Entry("updates/clamp_gradients", 80),
    Entry("updates/clip_param_groups", 80),
    Entry("updates/closure_step", 75, split="any"),
    Entry("updates/deepcopy_teacher", 60),
    Entry("updates/ema_dict", 75, is_quick=True),
    Entry("updates/gan_two_optimizers", 70, reorder="inputs", is_quick=True),
    Entry("updates/growing_network", 90),
    Entry("updates/heads_take_turns", 90, reorder="inputs", is_quick=True),
    Entry("updates/lbfgs", 15, reorder="inputs", is_sharp=False, depends_on_parts=True),
    Entry("updates/micro_batches", 27),
    Entry("updates/own_optimizer", 80),
    Entry("updates/sam", 48, split="any"),
    Entry("updates/sgd_by_hand", 80, reorder="inputs"),
    Entry("updates/skip_large_norm", 90),
    Entry("updates/sparse_embedding", 60, split="part", reason="sparse", reorder="inputs"),
    Entry("updates/weight_projection", 72, split="any"),
    Entry("updates/embedding_bag_offsets", 48, split="any", reorder="none"),
    Entry("updates/grad_scaler", 32, split="any", is_sharp=False),
    Entry("updates/gradient_hooks", 60, split="any", reorder="inputs"),
    Entry("updates/maml", 25, split="any", reorder="none"),
    Entry("updates/swa", 48, split="any"),
    Entry("updates/wgan_convolutional", 40, split="any"),
]

CATALOG: List[Entry] = [*DATA, *FILES, *LOOPS, *LOSSES, *MODULES, *SEQUENCES, *UPDATES]


def by_name() -> Dict[str, Entry]:
    return {entry.name: entry for entry in CATALOG}
