/** Keys that some engine knows at a place below a request's body and no client may write there, by the keys on the way. */
export const refusedKeys: Record<string, Record<string, string>> = {
  messages: {
    tools: 'tools of one message, past the checks of `tools`',
    task: 'a marker that the template adds (vLLM, for DeepSeek)',
    prefix: 'goes on with an answer (SGLang): `continue_final_message` says it',
    phase: 'of another interface (SGLang)',
    author: 'a message of Harmony, whose role stands here',
    channel: 'a message of Harmony',
    recipient: 'a message of Harmony',
    content_type: 'a message of Harmony',
  },
  'messages.content': {
    uuid: 'asks for an image that the engine keeps for everybody',
    image_pil: 'an image as Python has it',
    image_embeds: 'tensors, which the engine unpacks',
    audio_embeds: 'tensors, which the engine unpacks',
    video_embeds: 'tensors, which the engine unpacks',
    prompt_embeds: 'tensors, which the engine unpacks',
    data: 'of `prompt_embeds`',
    audio_url: 'an address that the engine fetches',
    video_url: 'an address that the engine fetches',
    input_audio: 'audio is not served',
    file: 'files are not served',
    modalities: 'makes a video of images (SGLang)',
    thinking: 'of another interface; `reasoning` says it',
    closed: 'of `thinking`',
    name: 'a tool that is not sent along',
    tool_reference: 'a tool that is not sent along',
  },
  'messages.content.image_url': {
    content_hash: 'the name of an image in a cache (SGLang)',
    max_dynamic_patch: 'how images are cut up, which is what they cost (SGLang)',
    min_dynamic_patch: 'how images are cut up, which is what they cost (SGLang)',
    max_long_side_pixel: 'how images are cut up, which is what they cost (SGLang)',
  },
  'messages.tool_calls': { custom: 'tools other than functions are not served' },
  'messages.tool_calls.function': {},
  tools: { defer_loading: 'a tool that the template leaves out' },
  'tools.function': {
    defer_loading: 'a tool that the template leaves out',
    key_order: 'written by the engine itself (SGLang)',
  },
  tool_choice: {},
  'tool_choice.function': {},
  response_format: {
    format: 'a structural tag',
    structures: 'a structural tag',
    triggers: 'a structural tag',
    at_least_one: 'a structural tag',
    schema: 'read in place of `json_schema` (SGLang)',
  },
  'response_format.json_schema': {},
  stream_options: {},
};

/**
 * Keys that engines read from other objects with the same names, in code for responses or for another API. A client may not send them
 * at any of these places.
 */
export const readElsewhere: Record<string, readonly string[]> = {
  messages: [
    ...['arguments', 'bytes', 'call_id', 'citations', 'content_blocks', 'encrypted_content', 'headers', 'id', 'input'],
    ...['namespace', 'output', 'response_format', 'summary', 'text', 'type', 'wo_eos'],
  ],
  'messages.content': ['content', 'detail', 'document', 'meta_info', 'output_ids', 'template_placeholder'],
  'messages.content.image_url': ['data'],
  'messages.tool_calls': ['arguments', 'name', 'new'],
  'messages.tool_calls.function': ['defer_loading', 'description', 'parameters', 'strict'],
  'tools.function': ['arguments'],
  'tool_choice.function': ['arguments', 'defer_loading', 'description', 'parameters', 'strict'],
  tools: ['arguments', 'description', 'environment', 'name', 'parameters', 'tools'],
  chat_template_kwargs: [
    ...['available_tools', 'chat_template', 'citation_options', 'citation_quality', 'cohere_format', 'dev_instruction'],
    ...['documents', 'force_nonempty_content', 'grounding', 'image_prompts', 'json_mode', 'json_schema'],
    ...['platform_instruction', 'reasoning_effort', 'reasoning_type', 'response_format', 'return_dict', 'safety_mode'],
    ...[
      'skip_preamble',
      'spaces_between_special_tokens',
      'template_id',
      'thinking',
      'thinking_effort',
      'thinking_mode',
    ],
    ...['tokenize', 'tool_call_format', 'tool_choice', 'tools'],
  ],
};
