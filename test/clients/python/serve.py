"""The loop of a Python client: an order a line comes in, what the client saw of it goes out, a line of JSON each.
An empty line goes out first, when the client can take orders.

An order and what was seen have the fields that order.ts names.
"""

import json
import sys
import traceback

import httpx
from openai import APIError
from pydantic import BaseModel, Field

FORECAST = '{"rain":true,"note":"il pleut ☔ 雨"}'


class Trip(BaseModel):
    city: str
    days: int = Field(ge=1, le=7)


TOOL = {"type": "function", "function": {"name": "forecast", "parameters": Trip.model_json_schema()}}


def serve(obey, errors=(APIError,), http_of=lambda order: httpx):
    """Has `obey(order, access, http_client)` do each order, with an HTTP client whose answers are noted.

    `errors` are raised for refusals. `http_of` gives the package that makes the client.
    """
    print(flush=True)
    for line in sys.stdin:
        task = json.loads(line)
        calls = []

        def note(response):
            calls.append({"callId": response.headers.get("x-router-call-id"), "status": response.status_code})

        with http_of(task["order"]).Client(
            event_hooks={"response": [note]}, timeout=30, headers=task["access"].get("headers")
        ) as http_client:
            try:
                seen = obey(task["order"], task["access"], http_client)
            except errors as error:
                seen = {"refusal": to_refusal(error)}
            except Exception:  # a mistake of this program or a surprise of the library: the next order may do
                seen = {"crash": traceback.format_exc()}
        print(json.dumps({"calls": calls, **seen}), flush=True)


def to_refusal(error):
    body = error.body if isinstance(error.body, dict) else {}
    fields = body.get("provider_specific_fields") or {}
    headers = to_headers(error)
    refusal = {
        "errorName": type(error).__name__,
        "status": error.status_code,
        "message": str(error),
        "sentence": headers.get("x-error-message"),
        "param": headers.get("x-error-param"),
        "retryAfter": headers.get("retry-after"),
        "didYouMean": fields.get("did_you_mean"),
    }
    return {name: value for name, value in refusal.items() if value is not None}


def to_headers(error):
    """Returns the headers of the answer. litellm has them beside a response that is none; of images, only the first error has them."""
    response = getattr(error, "response", None)
    headers = getattr(error, "litellm_response_headers", None) or getattr(response, "headers", None)
    return headers or (to_headers(error.__context__) if error.__context__ else {})


def to_message(message):
    if "imageUrl" not in message:
        return {"role": message["role"], "content": message["text"]}
    picture = {"type": "image_url", "image_url": {"url": message["imageUrl"]}}
    return {"role": message["role"], "content": [{"type": "text", "text": message["text"]}, picture]}


def to_usage(usage):
    details = getattr(usage, "prompt_tokens_details", None)
    return {
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": getattr(usage, "completion_tokens", 0) or 0,
        "total_tokens": usage.total_tokens,
        "cache_read_input_tokens": (details and details.cached_tokens) or 0,
    }


def to_sight(answer):
    choice = answer.choices[0]
    return {
        "text": choice.message.content or "",
        "reasoning": getattr(choice.message, "reasoning_content", None) or "",
        "finishReason": choice.finish_reason,
        "usages": [to_usage(answer.usage)],
    }


def read_stream(chunks, leave_after, leave):
    """What a stream shows, which is left by `leave()` after so many pieces of text, or never for None."""
    sight = {"text": "", "reasoning": "", "pieces": 0}
    for chunk in chunks:
        if getattr(chunk, "usage", None):
            sight["usages"] = [to_usage(chunk.usage)]
        for choice in chunk.choices:
            sight["reasoning"] += getattr(choice.delta, "reasoning_content", None) or ""
            sight["text"] += choice.delta.content or ""
            sight["pieces"] += 1 if choice.delta.content else 0
            if choice.finish_reason:
                sight["finishReason"] = choice.finish_reason
        if sight["pieces"] == leave_after:
            leave()
            break
    return sight


def chat_fields(order):
    """The fields of a chat, as both clients take them."""
    fields = {"model": order["model"], "messages": [to_message(message) for message in order["messages"]]}
    if "seed" in order:
        fields["seed"] = order["seed"]
    if "maxTokens" in order:
        fields["max_tokens"] = order["maxTokens"]
    return fields


def image_fields(order):
    """The fields of a call for images, as both clients take them."""
    fields = {"model": order["model"], "prompt": order["prompt"], "n": order["count"]}
    return {**fields, "size": order["size"]} if "size" in order else fields


def call_tool(order, ask):
    """A round trip: `ask(fields)` gives a whole answer, whether it was streamed or not."""
    messages = [{"role": "user", "content": order["question"]}]
    fields = {"model": order["model"], "messages": messages, "tools": [TOOL]}
    first = ask({**fields, "tool_choice": "required"})
    message = first.choices[0].message
    calls = message.tool_calls
    messages.append(message.model_dump(include={"role", "content", "tool_calls"}))
    messages.extend({"role": "tool", "tool_call_id": call.id, "content": FORECAST} for call in calls)
    last = ask({**fields, "tool_choice": "auto"})
    named = [{"name": call.function.name, "arguments": json.loads(call.function.arguments)} for call in calls]
    return {**to_sight(last), "toolCalls": named, "usages": [to_usage(first.usage), to_usage(last.usage)]}
