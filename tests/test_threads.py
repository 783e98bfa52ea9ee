import threading

import pytest

from fairshap._messages import in_threads


def test_every_piece_is_done_and_told():
    told = {}
    in_threads(
        lambda n: n * n, [(n,) for n in range(50)], 4, lambda item, result: told.update({item: result})
    )
    assert told == {(n,): n * n for n in range(50)}


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
@pytest.mark.parametrize("where", ["work", "finished"])
def test_an_error_ends_the_work_at_once(error, where):
    others = set(threading.enumerate())
    begun, is_out, in_time = [], threading.Event(), []

    def work(number):
        begun.append(number)
        if number == 0:
            if where == "work":
                raise error
            return
        # The pieces under way last until the error has come out, unless it waits for them.
        in_time.append(is_out.wait(timeout=60))

    def finished(item, result):
        raise error

    with pytest.raises(error):
        in_threads(work, [(number,) for number in range(1000)], 2, finished)
    is_out.set()
    for thread in set(threading.enumerate()) - others:
        thread.join()
    # Whatever a thread takes while the rest is called off, it takes one.
    assert len(begun) <= 3
    assert all(in_time)
