"""Golden values for decode plans: the scores that the models of Hugging Face's transformers give behind tokens of a text.

Writes, beside this script:
  decode_logits.golden    a line with each model, the number of classes and the tokens of the text; then for some of the tokens a
                          line with its place, from 0, and the scores behind it

Run: python3 decode_logits.py, with the package transformers
The weights are those of gpt2_training.py and transformers.py, as transformers reads them; it computes in float64. The recipes are in
tests/unit/test_decode_logits.c.
"""
import os
import shutil
import sys
import tempfile
from pathlib import Path

os.environ["HF_HUB_OFFLINE"] = "1"
sys.path.pop(0)  # beside this script there is another transformers.py
import torch
import transformers

HERE = Path(__file__).parent
LENGTH, PLACES = 16, (0, 5, 10, 15)
SMALL = dict(vocab_size=128, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64,
             max_position_embeddings=LENGTH)
OLDER = dict(n_positions=LENGTH, n_embd=32, n_layer=2, activation_function="gelu", resid_pdrop=0, embd_pdrop=0, attn_pdrop=0,
             bos_token_id=None, eos_token_id=None)
MODELS = {
    "gpt2": ("gpt2_training", lambda: transformers.GPT2LMHeadModel(transformers.GPT2Config(vocab_size=256, n_head=2, **OLDER))),
    "gptj": ("transformers_gptj", lambda: transformers.GPTJForCausalLM(transformers.GPTJConfig(
        vocab_size=128, n_head=4, n_inner=64, rotary_dim=4, tie_word_embeddings=False, **OLDER))),
    "gpt-neox": ("transformers_gpt_neox", lambda: transformers.GPTNeoXForCausalLM(transformers.GPTNeoXConfig(
        hidden_act="gelu", rotary_pct=0.5, **SMALL))),
    "llama": ("transformers_llama", lambda: transformers.LlamaForCausalLM(transformers.LlamaConfig(
        num_key_value_heads=2, rms_norm_eps=1e-5, tie_word_embeddings=False, **SMALL))),
}


def read(make, file):
    """The model with the weights of a file, as from_pretrained reads a folder; it knows older names."""
    model = make()
    with tempfile.TemporaryDirectory() as folder:
        model.config.save_pretrained(folder)
        shutil.copy(HERE / f"{file}.safetensors", f"{folder}/model.safetensors")
        model, found = type(model).from_pretrained(folder, output_loading_info=True)
    assert not any(found.values()), found
    return model.double().eval()


def main():
    torch.set_num_threads(1)
    text, lines = (HERE / "gpt2_training.txt").read_bytes()[:LENGTH], []
    for name, (file, make) in MODELS.items():
        model = read(make, file)
        with torch.no_grad():
            logits = model(torch.tensor([list(text)])).logits[0]
        lines.append(" ".join([name, str(logits.shape[1]), *map(str, text)]))
        lines += [" ".join([str(place), *(f"{value:.9g}" for value in logits[place].tolist())]) for place in PLACES]
    (HERE / "decode_logits.golden").write_text("\n".join(lines) + "\n")


main()
