# The messages of VS Code's Jupyter extension, as vscode.json lists them, and what the kernel says.
import json
import os
import signal
import uuid

from client import Kernel, done, kinds, ok, same

with open(os.path.dirname(__file__) + "/vscode.json") as f:
    rows = json.load(f)["messages"]
k = Kernel()
session, user = str(uuid.uuid4()), str(uuid.uuid4())


def send(row):
    message = k.client.session.msg(row["type"], row["content"], metadata=row.get("metadata", {}))
    message["header"].update(session=session, username=user, version="5.2", subshell_id=None)
    k.client.session.send(getattr(k.client, row["channel"] + "_channel").socket, message)
    return message["header"]["msg_id"]


for row in rows:
    name = f"{row['type']}: {row['source']}"
    if "while" in row:
        cell = k.ask("execute_request", {"code": "print 'begun'; " + row["while"], "allow_stdin": True})
        k.published(cell, "stream")
    about = send(row)
    reply = k.reply(about, row["channel"]) if "reply" in row else {}
    same({key: reply.get(key) for key in row.get("reply", {})}, row.get("reply", {}), name)
    same(kinds(k.published(about)), row["published"], f"what {row['type']} publishes")
    if "while" in row:
        same(k.reply(cell)["ename"], "Interrupted", "the cell is interrupted")
    if row.get("typed"):
        types = reply["metadata"]["_jupyter_types_experimental"]
        ok(len(types) >= len(reply["matches"]) > 100 and all(t["type"] for t in types), "each candidate has its type", len(types))

# the extension ends a kernel by a signal (src/kernels/raw/launcher/kernelProcess.node.ts, dispose)
os.kill(k.manager.provisioner.pid, signal.SIGTERM)
same(k.manager.provisioner.process.wait(10), -signal.SIGTERM, "SIGTERM ends it")
k.client.stop_channels()
k.manager.cleanup_resources()
done()
