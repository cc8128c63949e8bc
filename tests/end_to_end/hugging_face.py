"""Models of Hugging Face's transformers there and back: the file that its save_pretrained writes is compiled, trained and
exported, and firnc weights writes a file that its from_pretrained reads with no name missing or left over; its loss of the
next batch, in float64, is that of the next step. The file that firn export wrote and the one with the other names give the
same plan. Likewise folders that firnc compile --hf and firnc weights --hf read, config.json included.

    hugging_face.py FIRNC FIRN FOLDER     FOLDER has key.key.pem and key.pub.pem
"""
import json, os, shutil, subprocess, sys
from pathlib import Path

os.environ["HF_HUB_OFFLINE"] = "1"
import numpy as np
import torch
import transformers

FIRNC, FIRN, FOLDER = sys.argv[1:]
RECIPE, TEXT = "tests/end_to_end/gpt2_training.yaml", "tests/golden/gpt2_training.txt"
MASKED = "tests/golden/transformers_bert"  # records of tokens and of labels as IDX, 0 where nothing is predicted
VOCABULARY, SIZE, LAYERS, HEADS, FILTER, LENGTH, BATCH, STEPS = 128, 32, 2, 4, 64, 16, 4, 5
KEYS = (f"vocab_size: {VOCABULARY}, hidden_size: {SIZE}, num_hidden_layers: {LAYERS}, num_heads: {HEADS}, "
        f"filter_size: {FILTER}, max_position_embeddings: {LENGTH}, dropout_rate: 0, attention_dropout_rate: 0")


def gpt2_config():
    return transformers.GPT2Config(
        vocab_size=VOCABULARY, n_positions=LENGTH, n_embd=SIZE, n_layer=LAYERS, n_head=HEADS, n_inner=FILTER,
        activation_function="gelu", resid_pdrop=0, embd_pdrop=0, attn_pdrop=0, bos_token_id=None, eos_token_id=None)


# A model, the class that reads what comes back, and the keys of the recipe.
MODELS = {
    "gpt2": lambda: (transformers.GPT2LMHeadModel(gpt2_config()), transformers.GPT2LMHeadModel, "name: gpt2"),
    "gpt2 without a head": lambda: (transformers.GPT2Model(gpt2_config()), transformers.GPT2LMHeadModel, "name: gpt2"),
    "gptj": lambda: (
        transformers.GPTJForCausalLM(transformers.GPTJConfig(
            vocab_size=VOCABULARY, n_positions=LENGTH, n_embd=SIZE, n_layer=LAYERS, n_head=HEADS, n_inner=FILTER,
            rotary_dim=4, activation_function="gelu", resid_pdrop=0, embd_pdrop=0, attn_pdrop=0, bos_token_id=None,
            eos_token_id=None)),
        transformers.GPTJForCausalLM, "name: gptj, rotary_dim: 4"),
    "gpt-neox": lambda: (
        transformers.GPTNeoXForCausalLM(transformers.GPTNeoXConfig(
            vocab_size=VOCABULARY, hidden_size=SIZE, num_hidden_layers=LAYERS, num_attention_heads=HEADS,
            intermediate_size=FILTER, hidden_act="gelu", rotary_pct=0.5, max_position_embeddings=LENGTH)),
        transformers.GPTNeoXForCausalLM, "name: gpt-neox, rotary_pct: 0.5"),
    "llama": lambda: (
        transformers.LlamaForCausalLM(transformers.LlamaConfig(
            vocab_size=VOCABULARY, hidden_size=SIZE, num_hidden_layers=LAYERS, num_attention_heads=HEADS,
            num_key_value_heads=2, intermediate_size=FILTER, rms_norm_eps=1e-5, max_position_embeddings=LENGTH)),
        transformers.LlamaForCausalLM,
        "name: llama, attention_module: multiquery_attention, extra_attention_params: {num_kv_groups: 2}"),
    "bert": lambda: (
        transformers.BertForMaskedLM(transformers.BertConfig(
            vocab_size=VOCABULARY, hidden_size=SIZE, num_hidden_layers=LAYERS, num_attention_heads=HEADS,
            intermediate_size=FILTER, hidden_act="gelu", max_position_embeddings=LENGTH, layer_norm_eps=1e-5,
            hidden_dropout_prob=0, attention_probs_dropout_prob=0)),
        transformers.BertForMaskedLM, "name: bert, disable_nsp: true, ignore_index: 0"),
    "bert with an output of its own": lambda: (
        transformers.BertForMaskedLM(transformers.BertConfig(
            vocab_size=VOCABULARY, hidden_size=SIZE, num_hidden_layers=LAYERS, num_attention_heads=HEADS,
            intermediate_size=FILTER, hidden_act="gelu", max_position_embeddings=LENGTH, layer_norm_eps=1e-5,
            hidden_dropout_prob=0, attention_probs_dropout_prob=0, tie_word_embeddings=False)),
        transformers.BertForMaskedLM,
        "name: bert, disable_nsp: true, ignore_index: 0, share_embedding_weights: false"),
}


def relative(config, model, **more):
    """A relative of LLaMA."""
    return model(config(vocab_size=VOCABULARY, hidden_size=SIZE, num_hidden_layers=LAYERS, num_attention_heads=HEADS,
                        intermediate_size=FILTER, max_position_embeddings=LENGTH, pad_token_id=None, **more))


# Models that are known by their config.json alone.
FOLDERS = {
    "gpt-neox, sequential": lambda: transformers.GPTNeoXForCausalLM(transformers.GPTNeoXConfig(
        vocab_size=VOCABULARY, hidden_size=SIZE, num_hidden_layers=LAYERS, num_attention_heads=HEADS, intermediate_size=FILTER,
        use_parallel_residual=False, max_position_embeddings=LENGTH)),
    "llama with biases": lambda: relative(
        transformers.LlamaConfig, transformers.LlamaForCausalLM, num_key_value_heads=2, attention_bias=True, mlp_bias=True,
        tie_word_embeddings=True),
    "mistral": lambda: relative(
        transformers.MistralConfig, transformers.MistralForCausalLM, num_key_value_heads=1, sliding_window=LENGTH),
    "qwen2": lambda: relative(transformers.Qwen2Config, transformers.Qwen2ForCausalLM, num_key_value_heads=2),
    "stablelm": lambda: relative(
        transformers.StableLmConfig, transformers.StableLmForCausalLM, num_key_value_heads=4, use_qkv_bias=True),
    "bert with segments": lambda: transformers.BertForMaskedLM(transformers.BertConfig(
        vocab_size=VOCABULARY, hidden_size=SIZE, num_hidden_layers=LAYERS, num_attention_heads=HEADS, intermediate_size=FILTER,
        max_position_embeddings=LENGTH, hidden_dropout_prob=0, attention_probs_dropout_prob=0, pad_token_id=None)),
}


def run(*words):
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL)


def compiled(weights, plan, settings, recipe=RECIPE):
    source = "--hf" if Path(weights).is_dir() else "--weights"
    run(FIRNC, "compile", recipe, "--mode", "train", "--key", f"{FOLDER}/key.key.pem", *settings, source, weights,
        "-o", plan)
    return Path(plan).read_bytes()


def trained(base, steps, *more):
    data = [f"{MASKED}.tokens", "--labels", f"{MASKED}.labels"] if "hugging_face_bert" in base else [TEXT]
    run(FIRN, "train", f"{base}.plan", "--pub", f"{FOLDER}/key.pub.pem", "--data", *data, "--quiet", "--steps", str(steps),
        "--checkpoint", f"{base}.ckpt", "--log", f"{base}.jsonl", *more)


def next_batch(masked):
    """Inputs and labels."""
    if masked:
        records = [np.frombuffer(Path(f"{MASKED}.{kind}").read_bytes()[12:], np.uint8).reshape(-1, LENGTH)
                   for kind in ("tokens", "labels")]
        picks = [(STEPS * BATCH + i) % len(records[0]) for i in range(BATCH)]
        return [torch.tensor(each[picks].astype(np.int64)) for each in records]
    text = np.frombuffer(Path(TEXT).read_bytes(), np.uint8).astype(np.int64)
    windows = (len(text) - (LENGTH + 1)) // LENGTH + 1
    picks = [(STEPS * BATCH + i) % windows * LENGTH for i in range(BATCH)]
    batch = torch.tensor(np.stack([text[at:at + LENGTH + 1] for at in picks]))
    return batch[:, :-1], batch[:, 1:]


def without_model():
    """The recipe without its part model."""
    lines, skipping = [], False
    for line in open(RECIPE):
        if line.startswith("    ") and line[4] != " ":
            skipping = line.startswith("    model:")
        if not skipping:
            lines.append(line)
    path = Path(f"{FOLDER}/without_model.yaml")
    path.write_text("".join(lines))
    return path


def difference_from(model, base, masked):
    """How far the last loss of a run of STEPS + 1 steps is from that of the model, in float64, relative to it."""
    losses = [step["loss"] for step in map(json.loads, open(f"{base}.jsonl")) if "loss" in step and "step" in step]
    inputs, labels = next_batch(masked)
    with torch.no_grad():
        logits = model.double().eval()(inputs).logits
    loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=0 if masked else -100).item()
    apart = abs(loss - losses[-1]) / loss
    assert len(losses) == STEPS + 1 and apart <= 1e-6, (losses, loss)
    return apart


def check_folder(name, make):
    """A folder there and back: names, shapes and the loss that PyTorch has with what comes back."""
    model = make()
    base = f"{FOLDER}/hugging_face_{name.replace(' ', '_')}"
    settings = ["--set", "trainer.init.precision.enabled=false"]
    if name.startswith("bert"):
        settings += ["--set", "trainer.fit.train_dataloader.max_sequence_length=null", "--set",
                     "trainer.init.model.ignore_index=0"]
    recipe = without_model()
    model.save_pretrained(base)
    compiled(base, f"{base}.plan", settings, recipe)
    trained(base, STEPS)
    run(FIRN, "export", f"{base}.ckpt", "-o", f"{base}.safetensors")
    run(FIRNC, "weights", recipe, *settings, "--hf", base, "--trained", f"{base}.safetensors", "-o", f"{base}.back")
    Path(f"{base}.back").replace(f"{base}/model.safetensors")
    trained(base, 1, "--resume")
    back, found = type(model).from_pretrained(base, output_loading_info=True)
    assert not any(found.values()), found
    apart = difference_from(back, base, name.startswith("bert"))
    # The same in one step: a folder that the class of config.json reads without a name missing or left over.
    shutil.copytree(base, f"{base}_from", dirs_exist_ok=True)
    model.half().save_pretrained(f"{base}_from")
    run(FIRNC, "weights", recipe, *settings, "--hf", f"{base}_from", "--trained", f"{base}.safetensors", "-o", f"{base}_to/")
    reader = getattr(transformers, json.load(open(f"{base}_to/config.json"))["architectures"][0])
    other, found = reader.from_pretrained(f"{base}_to", output_loading_info=True)
    assert not any(found.values()), found
    wanted = type(model).from_pretrained(base).state_dict()
    for key, value in other.state_dict().items():
        assert value.dtype == torch.float32 and torch.equal(value, wanted[key]), key
    print(f"{name}: {apart:.1e} from Hugging Face's, by its folder")


def check(name, make):
    model, reader, keys = make()
    base = f"{FOLDER}/hugging_face_{name.replace(' ', '_')}"
    settings = ["--set", f"trainer.init.model={{{keys}, {KEYS}}}", "--set", "trainer.init.precision.enabled=false"]
    if name.startswith("bert"):
        settings += ["--set", "trainer.fit.train_dataloader.max_sequence_length=null"]
    model.save_pretrained(base)
    compiled(f"{base}/model.safetensors", f"{base}.plan", settings)
    trained(base, STEPS)
    run(FIRN, "export", f"{base}.ckpt", "-o", f"{base}.safetensors")
    run(FIRNC, "weights", RECIPE, *settings, "--trained", f"{base}.safetensors", "-o", f"{base}/model.safetensors")
    trained(base, 1, "--resume")
    model.config.architectures = [reader.__name__]
    model.config.save_pretrained(base)
    back, found = reader.from_pretrained(base, output_loading_info=True)
    assert not any(found.values()), found
    apart = difference_from(back, base, name.startswith("bert"))
    own = compiled(f"{base}.safetensors", f"{base}.own.plan", settings)
    assert own == compiled(f"{base}/model.safetensors", f"{base}.other.plan", settings)
    print(f"{name}: {apart:.1e} from Hugging Face's")


transformers.utils.logging.set_verbosity_error()
transformers.utils.logging.disable_progress_bar()
torch.manual_seed(0)
for name, make in MODELS.items():
    check(name, make)
for name, make in FOLDERS.items():
    check_folder(name, make)
