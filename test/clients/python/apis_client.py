"""`openai` of PyPI by its Responses API, and `anthropic`, which speaks the Messages API."""

import json

import anthropic
import httpx
import httpx2
import openai

from serve import Trip, serve

NOTED = "noted ✓"
PARAMETERS = {
    "type": "object",
    "properties": {"text": {"type": "string"}},
    "required": ["text"],
    "additionalProperties": False,
}


def obey(order, access, http_client):
    reach = {"api_key": access["apiKey"], "http_client": http_client, "max_retries": access["maxRetries"]}
    if order["sdk"] == "anthropic":
        client = anthropic.Anthropic(base_url=access["baseUrl"].removesuffix("/v1"), **reach)
        return work_by_messages(client, order)
    client = openai.OpenAI(base_url=access["baseUrl"], **reach)
    if order["do"] == "parse":
        response = client.responses.parse(model=order["model"], input=order["prompt"], text_format=Trip)
        value = response.output_parsed.model_dump()
        return {"text": response.output_text, "value": value, "tokens": to_tokens([response])}
    return work_by_responses(client, order)


def work_by_responses(client, order):
    """Calls until the model calls no tool any more."""
    tool = {"type": "function", "name": "note", "strict": True, "parameters": PARAMETERS}
    fields = {"model": order["model"], **({"tools": [tool]} if order["do"] == "work" else {})}
    history, responses, notes = [{"role": "user", "content": order["prompt"]}], [], []
    while True:
        if order["stream"]:
            with client.responses.stream(input=history, **fields) as stream:
                response = stream.get_final_response()
        else:
            response = client.responses.create(input=history, **fields)
        responses.append(response)
        calls = [item for item in response.output if item.type == "function_call"]
        if not calls:
            return {"text": response.output_text, "notes": notes, "tokens": to_tokens(responses)}
        notes += [json.loads(call.arguments)["text"] for call in calls]
        history += response.output
        history += [{"type": "function_call_output", "call_id": call.call_id, "output": NOTED} for call in calls]


def to_tokens(responses):
    return {
        "input": sum(response.usage.input_tokens for response in responses),
        "output": sum(response.usage.output_tokens for response in responses),
    }


def work_by_messages(client, order):
    """Calls until the model calls no tool any more."""
    tool = {"name": "note", "input_schema": PARAMETERS}
    fields = {"model": order["model"], "max_tokens": 1_000, **({"tools": [tool]} if order["do"] == "work" else {})}
    messages, notes, tokens = [{"role": "user", "content": order["prompt"]}], [], {"input": 0, "output": 0}
    while True:
        if order["stream"]:
            with client.messages.stream(messages=messages, **fields) as stream:
                message = stream.get_final_message()
        else:
            message = client.messages.create(messages=messages, **fields)
        usage = message.usage
        cached = (usage.cache_read_input_tokens or 0) + (usage.cache_creation_input_tokens or 0)
        tokens = {
            "input": tokens["input"] + usage.input_tokens + cached,
            "output": tokens["output"] + usage.output_tokens,
        }
        calls = [block for block in message.content if block.type == "tool_use"]
        if not calls:
            text = "".join(block.text for block in message.content if block.type == "text")
            return {"text": text, "notes": notes, "tokens": tokens}
        notes += [call.input["text"] for call in calls]
        messages.append({"role": "assistant", "content": message.content})
        results = [{"type": "tool_result", "tool_use_id": call.id, "content": NOTED} for call in calls]
        messages.append({"role": "user", "content": results})


serve(
    obey,
    errors=(openai.APIError, anthropic.APIError),
    http_of=lambda order: httpx2 if order["sdk"] == "anthropic" else httpx,
)
