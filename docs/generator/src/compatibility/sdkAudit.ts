import type { FieldSupport } from './listFields.ts';

type Verdict = Pick<FieldSupport, 'support' | 'note'>;

/** Fields of the SDK that are not in our schemas, as somebody judged them. Those that are in our schemas are judged there. */
export interface AuditedFields {
  file: string;
  type: string;
  /** The path of the type's fields in the body: `choices[].message`; empty for the body itself. */
  at: string;
  others: Record<string, Verdict>;
  /** Values of fields that the SDK alone or our schema alone allows, as `quality (max)`. Forms have `role` and `type`. */
  values?: Record<string, Verdict>;
}

/** The forms that a value may have in the SDK: what our schemas call each, or how it is judged. */
export interface AuditedForms {
  file: string;
  type: string;
  forms: Record<string, string | FieldSupport>;
}

export interface Audit {
  fields: AuditedFields[];
  forms?: AuditedForms[];
}

const VERDICTS = {
  forwarded: { support: 'partial', note: 'Forwarded to the engine, which takes, ignores or refuses it.' },
  refused: { support: 'no', note: '400.' },
  /** Media refuse what their schemas do not have. */
  unknown: { support: 'no', note: '422.' },
  dropped: { support: 'no', note: 'Accepted and not passed to engines.' },
  never: { support: 'no', note: 'In no response.' },
  hidden: { support: 'no', note: 'Not exposed.' },
  unpadded: { support: 'no', note: 'Nothing is padded.' },
  needless: { support: 'no', note: 'Ignored: nothing is padded.' },
  elsewhere: { support: 'no', note: 'See `usage.cache_creation_input_tokens`.' },
  byUnits: { support: 'no', note: 'See `usage.units_consumed`: media are not counted in tokens.' },
  ofOtherJobs: { support: 'yes', note: 'Of jobs of images and audio.' },
} satisfies Record<string, Verdict>;
type VerdictName = keyof typeof VERDICTS;

/** Names by their verdict, with commas between. */
type Judged = Partial<Record<VerdictName, string>>;

const toVerdicts = (judged: Judged): Record<string, Verdict> =>
  Object.fromEntries(
    Object.entries(judged).flatMap(([verdict, names]) =>
      names.split(', ').map((name) => [name, VERDICTS[verdict as VerdictName]]),
    ),
  );

const fieldsIn =
  (file: string) =>
  (type: string, at: string, others: Judged = {}, values: Judged = {}): AuditedFields => {
    return { file, type, at, others: toVerdicts(others), values: toVerdicts(values) };
  };
const formsIn =
  (file: string) =>
  (type: string, forms: AuditedForms['forms']): AuditedForms => ({ file, type, forms });
/** A form that is not supported. */
const not = (verdict: VerdictName, field: string): FieldSupport => ({ field, ...VERDICTS[verdict] });

const [CHAT, IMAGES, TRANSCRIPTS] = [
  'chat/completions/completions.d.ts',
  'images.d.ts',
  'audio/transcriptions.d.ts',
] as const;
const ofChat = fieldsIn(CHAT);
const ofText = fieldsIn('completions.d.ts');
const ofEmbedding = fieldsIn('embeddings.d.ts');
const ofImages = fieldsIn(IMAGES);
const ofVideos = fieldsIn('videos.d.ts');
const ofSpeech = fieldsIn('audio/speech.d.ts');
const ofTranscripts = fieldsIn(TRANSCRIPTS);
const ofTranslations = fieldsIn('audio/translations.d.ts');

const usage: AuditedFields[] = [
  ofText('CompletionUsage', 'usage'),
  ofText('CompletionUsage.CompletionTokensDetails', 'usage.completion_tokens_details', {
    never: 'accepted_prediction_tokens, audio_tokens, rejected_prediction_tokens, text_tokens',
  }),
  ofText('CompletionUsage.PromptTokensDetails', 'usage.prompt_tokens_details', {
    never: 'audio_tokens, image_tokens, text_tokens',
    elsewhere: 'cache_write_tokens',
  }),
];
const completion: AuditedFields[] = [
  ofText('Completion', '', { hidden: 'system_fingerprint' }),
  ofText('CompletionChoice', 'choices[]', {}, { never: 'finish_reason (tool_calls), finish_reason (function_call)' }),
  ...usage,
];
const video: AuditedFields[] = [
  ofVideos('Video', ''),
  ofVideos('VideoCreateError', 'error', { never: 'headers, misalignment, param, type' }),
];
const segment = ofTranscripts('TranscriptionSegment', 'segments[]');
const streamOptions = ofChat('ChatCompletionStreamOptions', 'stream_options', { needless: 'include_obfuscation' });

/** Fields that the pinned SDK knows, by operation and part of it. To audit a new version, make these lists true again. */
export const SDK_AUDIT: Record<string, Audit> = {
  'createChatCompletion request': {
    fields: [
      ofChat('ChatCompletionCreateParamsBase', '', {
        forwarded:
          'audio, logit_bias, metadata, modalities, moderation, parallel_tool_calls, prediction, prompt_cache_key, ' +
          'prompt_cache_options, prompt_cache_retention, reasoning_effort, safety_identifier, service_tier, store, ' +
          'verbosity, web_search_options',
      }),
      streamOptions,
      ofChat('ChatCompletionAssistantMessageParam', 'messages[]', { dropped: 'audio, function_call, refusal' }),
      ofChat('ChatCompletionUserMessageParam', 'messages[]'),
      ofChat('ChatCompletionToolMessageParam', 'messages[]'),
      ofChat('ChatCompletionContentPartText', 'messages[].content[]'),
      ofChat('ChatCompletionContentPartImage.ImageURL', 'messages[].content[].image_url'),
    ],
    forms: [
      formsIn(CHAT)('ChatCompletionMessageParam', {
        ChatCompletionAssistantMessageParam: 'messages[] (role: assistant)',
        ChatCompletionDeveloperMessageParam: 'messages[] (role: developer)',
        ChatCompletionFunctionMessageParam: 'messages[] (role: function)',
        ChatCompletionSystemMessageParam: 'messages[] (role: system)',
        ChatCompletionToolMessageParam: 'messages[] (role: tool)',
        ChatCompletionUserMessageParam: 'messages[] (role: user)',
      }),
      formsIn(CHAT)('ChatCompletionContentPart', {
        'ChatCompletionContentPart.File': not('refused', 'messages[].content[] (type: file)'),
        ChatCompletionContentPartImage: 'messages[].content[] (type: image_url)',
        ChatCompletionContentPartInputAudio: not('refused', 'messages[].content[] (type: input_audio)'),
        ChatCompletionContentPartText: 'messages[].content[] (type: text)',
      }),
      formsIn(CHAT)('ChatCompletionTool', {
        ChatCompletionCustomTool: not('refused', 'tools[] (type: custom)'),
        ChatCompletionFunctionTool: 'tools[].function',
      }),
      formsIn(CHAT)('ChatCompletionToolChoiceOption', {
        "'auto'": 'tool_choice',
        "'none'": 'tool_choice',
        "'required'": 'tool_choice',
        ChatCompletionAllowedToolChoice: not('refused', 'tool_choice (type: allowed_tools)'),
        ChatCompletionNamedToolChoice: 'tool_choice (type: function)',
        ChatCompletionNamedToolChoiceCustom: not('refused', 'tool_choice (type: custom)'),
      }),
    ],
  },
  'createChatCompletion answer': {
    fields: [
      ofChat('ChatCompletion', '', { never: 'moderation, service_tier, metadata', hidden: 'system_fingerprint' }),
      ofChat('ChatCompletion.Choice', 'choices[]'),
      ofChat('ChatCompletionMessage', 'choices[].message', { never: 'annotations, audio, function_call' }),
      ofChat('ChatCompletionMessageFunctionToolCall', 'choices[].message.tool_calls[]'),
      ...usage,
    ],
    forms: [
      formsIn(CHAT)('ChatCompletionMessageToolCall', {
        ChatCompletionMessageCustomToolCall: not('never', 'choices[].message.tool_calls[] (type: custom)'),
        ChatCompletionMessageFunctionToolCall: 'choices[].message.tool_calls[].function',
      }),
    ],
  },
  'createChatCompletion events': {
    fields: [
      ofChat('ChatCompletionChunk', '', {
        never: 'moderation, service_tier',
        hidden: 'system_fingerprint',
        unpadded: 'obfuscation',
      }),
      ofChat('ChatCompletionChunk.Choice', 'choices[]'),
      ofChat('ChatCompletionChunk.Choice.Delta', 'choices[].delta', { never: 'audio, function_call' }),
      ofChat('ChatCompletionChunk.Choice.Delta.ToolCall', 'choices[].delta.tool_calls[]', { never: 'custom' }),
      ...usage,
    ],
  },
  'createCompletion request': {
    fields: [
      ofText('CompletionCreateParamsBase', '', { refused: 'best_of, echo', forwarded: 'logit_bias' }),
      streamOptions,
    ],
  },
  'createCompletion answer': { fields: completion },
  'createCompletion events': { fields: completion },
  'createEmbedding request': { fields: [ofEmbedding('EmbeddingCreateParams', '')] },
  'createEmbedding answer': {
    fields: [
      ofEmbedding('CreateEmbeddingResponse', ''),
      ofEmbedding('CreateEmbeddingResponse.Usage', 'usage'),
      ofEmbedding('Embedding', 'data[]'),
    ],
  },
  'createImages request': {
    fields: [
      ofImages(
        'ImageGenerateParamsBase',
        '',
        { unknown: 'complexity, frame_count, frame_duration_ms, safety_identifier, svg' },
        { unknown: 'output_format (gif), output_format (svg), quality (xhigh), quality (max)' },
      ),
    ],
  },
  'createImages answer': {
    fields: [
      ofImages(
        'ImagesResponse',
        '',
        { never: 'background, quality, safety_identifier, svg_usage' },
        { never: 'output_format (gif), output_format (svg)' },
      ),
      ofImages('Image', 'data[]', { never: 'revised_prompt' }),
      ofImages('ImagesResponse.Usage', 'usage', {
        byUnits: 'input_tokens, input_tokens_details, output_tokens, output_tokens_details, total_tokens',
      }),
    ],
  },
  'createImages events': {
    fields: [ofImages('ImageGenCompletedEvent', '', { never: 'background, quality, safety_identifier' })],
    forms: [
      formsIn(IMAGES)('ImageGenStreamEvent', {
        ImageGenCompletedEvent: 'type',
        ImageGenPartialImageEvent: not('never', '(type: image_generation.partial_image)'),
      }),
    ],
  },
  'createVideo request': { fields: [ofVideos('VideoCreateParams', '')] },
  'createVideo answer': { fields: video },
  'getVideo answer': { fields: video },
  'deleteVideo answer': {
    fields: [
      ofVideos(
        'VideoDeleteResponse',
        '',
        {},
        { ofOtherJobs: 'object (image.job.deleted), object (audio.job.deleted)' },
      ),
    ],
  },
  'createSpeech request': { fields: [ofSpeech('SpeechCreateParams', ''), ofSpeech('SpeechCreateParams.ID', 'voice')] },
  'createTranscription request': {
    fields: [
      ofTranscripts('TranscriptionCreateParamsBase', '', {
        unknown: 'keywords, known_speaker_names, known_speaker_references, languages',
      }),
    ],
  },
  'createTranscription answer': {
    fields: [
      ofTranscripts('Transcription', '', { never: 'languages, logprobs' }),
      ofTranscripts('TranscriptionVerbose', ''),
      segment,
      ofTranscripts('TranscriptionWord', 'words[]'),
    ],
    forms: [
      formsIn(TRANSCRIPTS)('TranscriptionCreateResponse', {
        Transcription: 'text',
        TranscriptionDiarized: not('unknown', '(response_format: diarized_json)'),
        TranscriptionVerbose: 'text',
      }),
    ],
  },
  'createTranscription events': {
    fields: [
      ofTranscripts('TranscriptionTextDeltaEvent', '', { never: 'logprobs, segment_id' }),
      ofTranscripts('TranscriptionTextDoneEvent', '', { never: 'languages, logprobs' }),
    ],
    forms: [
      formsIn(TRANSCRIPTS)('TranscriptionStreamEvent', {
        TranscriptionTextDeltaEvent: 'delta',
        TranscriptionTextDoneEvent: 'text',
        TranscriptionTextSegmentEvent: not('never', '(type: transcript.text.segment)'),
      }),
    ],
  },
  'createTranslation request': { fields: [ofTranslations('TranslationCreateParams', '')] },
  'createTranslation answer': {
    fields: [ofTranslations('Translation', ''), ofTranslations('TranslationVerbose', ''), segment],
  },
  'getModel answer': { fields: [fieldsIn('models.d.ts')('Model', '', { never: 'shutdown_date' })] },
};
