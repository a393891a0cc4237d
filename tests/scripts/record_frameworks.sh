#!/usr/bin/env bash
# gpush record: the loops of Accelerate and Lightning, where they are installed.
. "${GPUSH_ROOT:-$(cd "$(dirname "$0")/../.." && pwd)}/tests/support/record_steps.sh"

# ---- Accelerate ----
# alike NAME ARGUMENT...: gpush record's status and stdout, without a bar's rates, are those of the program alone.
alike() {
    local name=$1 alone
    shift
    if [ "$1" = -- ]; then alone=$("${@:2}" 2>/dev/null); else alone=$(python3 "$@" 2>/dev/null); fi
    alone="$?|$(grep -v 'it/s' <<<"$alone")"
    record --stacks "$@"
    tap_is "$status|$(grep -v 'it/s' <<<"$out")" "$alone" "$name ends as without gpush"
}
cat >accelerated.py <<'E2'
import time
from model import *
from accelerate import Accelerator
from torch.utils.data import DataLoader
every = int(sys.argv[1])
accelerator = Accelerator(cpu=True, gradient_accumulation_steps=every)
def slowly(rows): time.sleep(0.01); return torch.stack(rows)
model, optimizer, batches = accelerator.prepare(
    model, made(), DataLoader(torch.rand(160 * every, 8), batch_size=4, collate_fn=slowly))
for batch in batches:
    with accelerator.accumulate(model):
        loss = model(batch).mean()
        accelerator.backward(loss)
        optimizer.step(); optimizer.zero_grad()
accelerator.print(f"{loss.item():.5f}", type(model).__name__)
accelerator.end_training()
E2
if python3 -c 'import accelerate' 2>/dev/null; then
    alike "Accelerate's loop" accelerated.py 2
    tap_is "$stepped" "SGD3 " "Accelerate: a step is the optimizer's, of two batches"
    says "dominated by the loader" "Accelerate: a slow loader is found"
    alike "accelerate launch" -- accelerate launch --cpu accelerated.py 1
    tap_is "$stepped" "SGD3 " "accelerate launch: the optimizer's steps"
    alike "Accelerate on two ranks" -- python3 -m torch.distributed.run --standalone --nproc-per-node 2 accelerated.py 1
    tap_is "$stepped" "SGD6 " "Accelerate: both ranks"
else
    tap_skip "accelerate is not installed"
fi

# ---- Lightning ----
cat >lit.py <<'E2'
import logging, warnings
from model import *
import lightning.pytorch as pl
from torch.utils.data import DataLoader
warnings.simplefilter("ignore")
def slow_part(): return sum(i * i for i in range(200000))
class Lit(pl.LightningModule):
    def __init__(self): super().__init__(); self.model = model
    def training_step(self, batch, i): slow_part(); loss = self.model(batch).mean(); self.log("loss", loss, prog_bar=True); return loss
    def validation_step(self, batch, i): self.log("held out", self.model(batch).mean())
    def configure_optimizers(self): return made()
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
trainer = pl.Trainer(accelerator="cpu", max_epochs=2, logger=False, enable_model_summary=False, **eval(sys.argv[1]))
batches = DataLoader(torch.rand(40, 8), batch_size=4)
trainer.fit(Lit(), batches, batches)
print(trainer.global_step, trainer.state.status.value)
E2
if python3 -c 'import lightning.pytorch' 2>/dev/null; then
    alike "Lightning" lit.py 'dict(enable_progress_bar=False)'
    tap_is "$stepped" "SGD3 " "Lightning: the optimizer's steps"
    says "slow_part" "Lightning: a slow function is found"
    alike "Lightning with its bar" lit.py 'dict(enable_checkpointing=True)'
    alike "Lightning's own profiler" lit.py 'dict(enable_progress_bar=False, profiler="pytorch")'
    [[ $err == *"the program's own profiler ran"* || $err == *"recorded steps 1"* ]]
    tap_ok $? "which keeps its steps, and the rest are recorded" "said: $err"
else
    tap_skip "lightning is not installed"
fi
tap_done
