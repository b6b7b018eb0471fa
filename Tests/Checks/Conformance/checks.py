"""One test of the suite: its requests through the cache, and what their answers must be."""

import asyncio
import contextlib
import copy
import uuid

from exchange import send
from origin import fixed

PAUSE = 3
# What a client of the suite sends with each request, unless the test says otherwise.
USUAL = {"Accept": "*/*", "Accept-Language": "*", "Accept-Encoding": "gzip, deflate", "User-Agent": "node"}


class Failure(Exception):
    """The cache does not do what the test asks for."""


class SetupFailure(Exception):
    """The test could not be made: its first requests were not answered as it needs."""


def require(is_setup, holds, text):
    if not holds:
        raise (SetupFailure if is_setup else Failure)(text)


def is_setup(request, member):
    return request.get("setup") is True or member in request.get("setup_tests", [])


async def run(test, port, origin, first):
    """Runs a test. Returns None if it passes, and else the reason, which begins with the kind of failure.

    Few tests send their first request at once, so that a busy machine has time for the others, which count seconds.
    """
    test, name = copy.deepcopy(test), str(uuid.uuid4())
    origin.tests[name] = test
    try:
        answers = []
        for index, request in enumerate(test["requests"]):
            async with contextlib.nullcontext() if answers else first:
                answers.append(await exchange(test, request, index, answers[-1] if answers else None, name, port))
            if request.get("pause_after"):
                await asyncio.sleep(PAUSE)
        check_requests(test["requests"], answers, origin.seen.get(name, []))
        return None
    except SetupFailure as failure:
        return f"setup: {failure}"
    except Failure as failure:
        return f"{failure}"
    except (OSError, asyncio.IncompleteReadError, asyncio.TimeoutError, ValueError, IndexError) as failure:
        return f"exchange: {type(failure).__name__} {failure}"


async def exchange(test, request, index, before, name, port):
    fields = [("Pragma", "foo"), ("Cache-Control", "nothing-to-see-here")]
    for field in request.get("request_headers", []):
        is_date = field[0].lower() == "if-modified-since" and request.get("magic_ims")
        now = before.number("server-now") / 1000 if is_date else 0
        fields.append(fixed(field, request, "", now) if is_date else (field[0], str(field[1])))
    fields = joined(fields)
    given = {key.lower() for key, _ in fields}
    fields += [(key, value) for key, value in USUAL.items() if key.lower() not in given]
    fields += [("Test-Name", test["name"].encode("ascii", "ignore").decode()), ("Test-ID", test["id"]),
               ("Req-Num", str(index + 1))]
    path = f"/test/{name}"
    path += f"/{request['filename']}" if "filename" in request else ""
    path += f"?{request['query_arg']}" if "query_arg" in request else ""
    body = request["request_body"].encode() if "request_body" in request else None
    interim, answer = await send(port, request.get("request_method", "GET"), path, fields, body)
    check_answer(request, index + 1, answer, interim, name)
    return answer


def joined(fields):
    """Fields of one name as one, as a browser's `fetch` sends them."""
    whole = {}
    for name, value in fields:
        known = next((key for key in whole if key.lower() == name.lower()), None)
        if known is None:
            whole[name] = value
        else:
            whole[known] += f", {value}"
    return list(whole.items())


def check_answer(request, number, answer, interim, name):
    asked = answer.number("server-request-count")
    numbers = (answer.get("request-numbers") or "").split()
    require(True, len(numbers) == len(set(numbers)), "a request was sent twice")
    kind = request.get("expected_type")
    if kind == "cached" and not (answer.status == 304 and asked is None):
        require(is_setup(request, "expected_type"), asked is not None and asked < number, f"answer {number} is not from the cache")
    if kind == "not_cached":
        require(is_setup(request, "expected_type"), asked == number, f"answer {number} is from the cache")
    check_status(request, number, answer)
    check_fields(request, number, answer)
    if "expected_interim_responses" in request:
        check_interim(request, interim)
    check_body(request, number, answer, name)


def check_status(request, number, answer):
    if "expected_status" in request:
        expected, setup = request["expected_status"], is_setup(request, "expected_status")
    elif "response_status" in request:
        expected, setup = request["response_status"][0], True
    elif answer.status == 999:
        raise (SetupFailure if is_setup(request, "expected_type") else Failure)(f"request {number} has no condition")
    else:
        expected, setup = 200, True
    if expected is not None:
        require(setup, answer.status == expected, f"answer {number} is a {answer.status}, not a {expected}")


def check_fields(request, number, answer):
    setup = is_setup(request, "expected_response_headers")
    for field in request.get("expected_response_headers", []):
        name = field if isinstance(field, str) else field[0]
        value = answer.get(name)
        if isinstance(field, str) or len(field) > 2:
            require(setup, value is not None, f"answer {number} has no {name}")
        if isinstance(field, str):
            continue
        if len(field) == 2:
            now = answer.number("server-now")
            expected = fixed(field, request, answer.get("server-base-url"), (now or 0) / 1000)[1]
            require(setup, value == expected, f"answer {number} has {name}: {value}, not {expected}")
        elif field[1] == "=":
            require(setup, value == answer.get(field[2]), f"answer {number} has {name}: {value}, not that of {field[2]}")
        else:
            digits = value.split(",")[0].strip()
            require(setup, digits.isdigit() and int(digits) > field[2], f"answer {number} has {name}: {value}, not over {field[2]}")
    setup = is_setup(request, "expected_response_headers_missing")
    for field in request.get("expected_response_headers_missing", []):
        # With a value, the suite asserts nothing.
        if isinstance(field, str):
            require(setup, answer.get(field) is None, f"answer {number} has {field}: {answer.get(field)}")


def check_interim(request, interim):
    setup, expected = is_setup(request, "expected_interim_responses"), request["expected_interim_responses"]
    require(setup, [each.status for each in interim] == [each[0] for each in expected],
            f"the interim responses are {[each.status for each in interim]}, not {[each[0] for each in expected]}")
    for answer, (_, *fields) in zip(interim, expected):
        for name, _ in (fields or [[]])[0]:
            require(setup, answer.get(name) is not None, f"an interim response has no {name}")


def check_body(request, number, answer, name):
    body = answer.body.decode("utf-8", "replace")
    if request.get("check_body") is False:
        return
    if "expected_response_text" in request:
        expected, setup = request["expected_response_text"], is_setup(request, "expected_response_text")
    elif request.get("response_body") is not None:
        expected, setup = request["response_body"], True
    elif answer.status in (204, 304) or request.get("request_method") == "HEAD":
        return
    else:
        expected, setup = name, True
    if expected is not None:
        require(setup, body == expected, f"answer {number} has the body {body!r}, not {expected!r}")


def check_requests(requests, answers, seen):
    """Compares the requests that the server has seen with those that it was to see."""
    seen = iter(seen)
    for index, (request, answer) in enumerate(zip(requests, answers)):
        number, kind, setup = index + 1, request.get("expected_type"), is_setup(request, "expected_type")
        if kind == "cached":
            continue
        sent = next(seen, None)
        if kind == "not_cached":
            require(setup, sent and sent["number"] == number, f"request {number} has not reached the server")
        condition = {"etag_validated": "if-none-match", "lm_validated": "if-modified-since"}.get(kind)
        if condition:
            require(setup, sent, f"request {number} has not reached the server")
            require(setup, sent["request"].get(condition) is not None, f"request {number} has no {condition}")
        if sent is None:
            continue
        own = is_setup(request, "expected_request_headers")
        for field in request.get("expected_request_headers", []):
            name = field if isinstance(field, str) else field[0]
            value = sent["request"].get(name)
            require(own, value is not None if isinstance(field, str) else value == field[1],
                    f"request {number} has {name}: {value}")
        if "expected_method" in request:
            require(is_setup(request, "expected_method"), sent["method"] == request["expected_method"],
                    f"request {number} is a {sent['method']}, not a {request['expected_method']}")
        for name, value in sent["kept"].items():
            if name.lower() != "date":
                require(True, answer.get(name) == value, f"answer {number} has {name}: {answer.get(name)}, not {value}")
