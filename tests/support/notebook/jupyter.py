# jupyter_kernel_test as it is, and a notebook run by nbclient, with a kernelspec that gpush kernel
# install wrote. What is missing here is skipped and counted.
import os
import shutil
import subprocess
import sys
import unittest

import jupyter_client
from client import GPUSH, Kernel, done, ok, same

subprocess.run([GPUSH, "kernel", "install", "--prefix", os.getcwd()], check=True, stdout=subprocess.DEVNULL)
os.environ["JUPYTER_PATH"] = os.getcwd() + "/share/jupyter"


def skip(why):
    import client
    client.count += 1
    print(f"ok {client.count} # SKIP {why}")


try:
    import jupyter_kernel_test

    class Tests(jupyter_kernel_test.KernelTests):
        kernel_name = "gpush"
        language_name = "lua"
        file_extension = ".lua"
        code_hello_world = "print 'hello, world'"
        code_stderr = "io.stderr:write 'test\\n'"
        completion_samples = [{"text": "string.for", "matches": {"format"}}, {"text": "zeros_l", "matches": {"zeros_like"}}]
        complete_code_samples = ["1", "for i = 1, 3 do print(i) end", ":mem"]
        incomplete_code_samples = ["for i = 1, 3 do", "x = {1,"]
        invalid_code_samples = ["x = = 1", ")"]
        code_page_something = "?zeros"
        code_generate_error = "error 'x'"
        code_execute_result = [{"code": "1+2", "result": "3"}, {"code": "'a' .. 'b'", "result": "ab"}]
        code_display_data = [{"code": "plot {1, 2, 3}", "mime": "image/png"}]
        code_history_pattern = "1?2*"
        supported_history_operations = ("tail", "range", "search")
        code_inspect_sample = "zeros"
        code_clear_output = "notebook.clear_output()"

    result = unittest.TextTestRunner(stream=sys.stderr).run(unittest.defaultTestLoader.loadTestsFromTestCase(Tests))
    same((len(result.failures), len(result.errors), len(result.skipped)), (0, 0, 0),
         f"jupyter_kernel_test: {result.testsRun} tests")
except ImportError:
    skip("no jupyter_kernel_test: pip install jupyter_kernel_test")

try:
    import nbclient
    import nbformat

    book = nbformat.v4.new_notebook()
    for code in ("x = ones(2, 3)\nx:sum()", "print 'seen'\nplot {1, 2, 3}", "for i in progress(3) do end", "error 'caught'", "6 * 7"):
        book.cells.append(nbformat.v4.new_code_cell(code))
    nbclient.NotebookClient(book, kernel_name="gpush", allow_errors=True, timeout=60).execute()
    outputs = [[o["output_type"] for o in c.outputs] for c in book.cells]
    same(outputs, [["execute_result"], ["stream", "display_data"], ["display_data"], ["error"], ["execute_result"]],
         "nbclient runs a notebook")
    ok("3/3" in book.cells[2].outputs[0]["data"]["text/plain"], "and has the last state of a bar", book.cells[2].outputs)
    same(book.cells[4].outputs[0]["data"]["text/plain"], "42", "and the values")
    nbformat.validate(book)
except ImportError:
    skip("no nbclient: pip install nbclient")

# the kernelspec of the wheel, beside a program of its environment
os.makedirs("wheel/bin")
os.makedirs("wheel/share/jupyter/kernels/of-wheel")
os.symlink(GPUSH, "wheel/bin/gpush")
shutil.copy(os.environ["GPUSH_ROOT"] + "/scripts/dev/wheels/kernel.json", "wheel/share/jupyter/kernels/of-wheel/")
os.environ["JUPYTER_PATH"] = os.getcwd() + "/wheel/share/jupyter"
manager, of_wheel = jupyter_client.manager.start_new_kernel(kernel_name="of-wheel", startup_timeout=20)
same(of_wheel.kernel_info(reply=True, timeout=20)["content"]["implementation"], "gpush", "the wheel's kernelspec starts it")
of_wheel.stop_channels()
manager.shutdown_kernel()

k = Kernel()
ok(k.seconds < 10, f"the first reply comes {1000 * k.seconds:.0f} ms after the start")
k.end()
done()
