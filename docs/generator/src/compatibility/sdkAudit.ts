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

const CHAT = 'chat/completions/completions.d.ts';
const TEXT = 'completions.d.ts';

const FORWARDED: Verdict = {
  support: 'partial',
  note: 'Forwarded to the engine, which takes, ignores or refuses it.',
};
const REFUSED: Verdict = { support: 'no', note: '400.' };
const NEVER: Verdict = { support: 'no', note: 'Not in any answer.' };
const HIDDEN: Verdict = { support: 'no', note: 'Not exposed.' };

const usageAudit: AuditedFields[] = [
  {
    file: TEXT,
    type: 'CompletionUsage',
    at: 'usage',
    others: {},
  },
  {
    file: TEXT,
    type: 'CompletionUsage.CompletionTokensDetails',
    at: 'usage.completion_tokens_details',
    others: {
      accepted_prediction_tokens: NEVER,
      audio_tokens: NEVER,
      rejected_prediction_tokens: NEVER,
      text_tokens: NEVER,
    },
  },
  {
    file: TEXT,
    type: 'CompletionUsage.PromptTokensDetails',
    at: 'usage.prompt_tokens_details',
    others: {
      audio_tokens: NEVER,
      cache_write_tokens: { support: 'no', note: 'See `usage.cache_creation_input_tokens`.' },
      image_tokens: NEVER,
      text_tokens: NEVER,
    },
  },
];

const completionChoice: AuditedFields = {
  file: TEXT,
  type: 'CompletionChoice',
  at: 'choices[]',
  others: {},
  values: { 'finish_reason (tool_calls)': NEVER, 'finish_reason (function_call)': NEVER },
};

const IMAGES = 'images.d.ts';
const TRANSCRIPTS = 'audio/transcriptions.d.ts';
const TRANSLATIONS = 'audio/translations.d.ts';
const VIDEOS = 'videos.d.ts';

/** Media refuse what their schemas do not have. */
const UNKNOWN: Verdict = { support: 'no', note: '422.' };
const OF_OTHER_JOBS: Verdict = { support: 'yes', note: 'Of jobs of images and audio.' };
const BY_UNITS: Verdict = { support: 'no', note: 'See `usage.units_consumed`: media are not counted in tokens.' };
const videoAudit: AuditedFields[] = [
  { file: VIDEOS, type: 'Video', at: '', others: {} },
  {
    file: VIDEOS,
    type: 'VideoCreateError',
    at: 'error',
    others: { headers: NEVER, misalignment: NEVER, param: NEVER, type: NEVER },
  },
];
const segmentAudit: AuditedFields = {
  file: TRANSCRIPTS,
  type: 'TranscriptionSegment',
  at: 'segments[]',
  others: {},
};

const chatAnswer = { moderation: NEVER, service_tier: NEVER, system_fingerprint: HIDDEN };
const streamOptions: AuditedFields = {
  file: CHAT,
  type: 'ChatCompletionStreamOptions',
  at: 'stream_options',
  others: { include_obfuscation: { support: 'no', note: 'Ignored: nothing is padded.' } },
};
const DROPPED: Verdict = { support: 'no', note: 'Taken, and not passed to engines.' };
const messageOf = (type: string, ...dropped: string[]): AuditedFields => ({
  file: CHAT,
  type,
  at: 'messages[]',
  others: Object.fromEntries(dropped.map((name) => [name, DROPPED])),
});

/** Fields that the pinned SDK knows, by operation and part of it. To audit a new version, make these lists true again. */
export const SDK_AUDIT: Record<string, Audit> = {
  'createChatCompletion request': {
    fields: [
      {
        file: CHAT,
        type: 'ChatCompletionCreateParamsBase',
        at: '',
        others: {
          audio: FORWARDED,
          logit_bias: FORWARDED,
          metadata: FORWARDED,
          modalities: FORWARDED,
          moderation: FORWARDED,
          parallel_tool_calls: FORWARDED,
          prediction: FORWARDED,
          prompt_cache_key: FORWARDED,
          prompt_cache_options: FORWARDED,
          prompt_cache_retention: FORWARDED,
          reasoning_effort: FORWARDED,
          safety_identifier: FORWARDED,
          service_tier: FORWARDED,
          store: FORWARDED,
          verbosity: FORWARDED,
          web_search_options: FORWARDED,
        },
      },
      streamOptions,
      messageOf('ChatCompletionAssistantMessageParam', 'audio', 'function_call', 'refusal'),
      messageOf('ChatCompletionUserMessageParam'),
      messageOf('ChatCompletionToolMessageParam'),
      {
        file: CHAT,
        type: 'ChatCompletionContentPartText',
        at: 'messages[].content[]',
        others: {},
      },
      {
        file: CHAT,
        type: 'ChatCompletionContentPartImage.ImageURL',
        at: 'messages[].content[].image_url',
        others: {},
      },
    ],
    forms: [
      {
        file: CHAT,
        type: 'ChatCompletionMessageParam',
        forms: {
          ChatCompletionAssistantMessageParam: 'messages[] (role: assistant)',
          ChatCompletionDeveloperMessageParam: 'messages[] (role: developer)',
          ChatCompletionFunctionMessageParam: 'messages[] (role: function)',
          ChatCompletionSystemMessageParam: 'messages[] (role: system)',
          ChatCompletionToolMessageParam: 'messages[] (role: tool)',
          ChatCompletionUserMessageParam: 'messages[] (role: user)',
        },
      },
      {
        file: CHAT,
        type: 'ChatCompletionContentPart',
        forms: {
          'ChatCompletionContentPart.File': { field: 'messages[].content[] (type: file)', ...REFUSED },
          ChatCompletionContentPartImage: 'messages[].content[] (type: image_url)',
          ChatCompletionContentPartInputAudio: { field: 'messages[].content[] (type: input_audio)', ...REFUSED },
          ChatCompletionContentPartText: 'messages[].content[] (type: text)',
        },
      },
      {
        file: CHAT,
        type: 'ChatCompletionTool',
        forms: {
          ChatCompletionCustomTool: { field: 'tools[] (type: custom)', ...REFUSED },
          ChatCompletionFunctionTool: 'tools[].function',
        },
      },
      {
        file: CHAT,
        type: 'ChatCompletionToolChoiceOption',
        forms: {
          "'auto'": 'tool_choice',
          "'none'": 'tool_choice',
          "'required'": 'tool_choice',
          ChatCompletionAllowedToolChoice: { field: 'tool_choice (type: allowed_tools)', ...REFUSED },
          ChatCompletionNamedToolChoice: 'tool_choice (type: function)',
          ChatCompletionNamedToolChoiceCustom: { field: 'tool_choice (type: custom)', ...REFUSED },
        },
      },
    ],
  },
  'createChatCompletion answer': {
    fields: [
      { file: CHAT, type: 'ChatCompletion', at: '', others: { ...chatAnswer, metadata: NEVER } },
      { file: CHAT, type: 'ChatCompletion.Choice', at: 'choices[]', others: {} },
      {
        file: CHAT,
        type: 'ChatCompletionMessage',
        at: 'choices[].message',
        others: { annotations: NEVER, audio: NEVER, function_call: NEVER },
      },
      {
        file: CHAT,
        type: 'ChatCompletionMessageFunctionToolCall',
        at: 'choices[].message.tool_calls[]',
        others: {},
      },
      ...usageAudit,
    ],
    forms: [
      {
        file: CHAT,
        type: 'ChatCompletionMessageToolCall',
        forms: {
          ChatCompletionMessageCustomToolCall: { field: 'choices[].message.tool_calls[] (type: custom)', ...NEVER },
          ChatCompletionMessageFunctionToolCall: 'choices[].message.tool_calls[].function',
        },
      },
    ],
  },
  'createChatCompletion events': {
    fields: [
      {
        file: CHAT,
        type: 'ChatCompletionChunk',
        at: '',
        others: { ...chatAnswer, obfuscation: { support: 'no', note: 'Nothing is padded.' } },
      },
      { file: CHAT, type: 'ChatCompletionChunk.Choice', at: 'choices[]', others: {} },
      {
        file: CHAT,
        type: 'ChatCompletionChunk.Choice.Delta',
        at: 'choices[].delta',
        others: { audio: NEVER, function_call: NEVER },
      },
      {
        file: CHAT,
        type: 'ChatCompletionChunk.Choice.Delta.ToolCall',
        at: 'choices[].delta.tool_calls[]',
        others: { custom: NEVER },
      },
      ...usageAudit,
    ],
  },
  'createCompletion request': {
    fields: [
      {
        file: TEXT,
        type: 'CompletionCreateParamsBase',
        at: '',
        others: { best_of: REFUSED, echo: REFUSED, logit_bias: FORWARDED },
      },
      streamOptions,
    ],
  },
  'createCompletion answer': {
    fields: [
      { file: TEXT, type: 'Completion', at: '', others: { system_fingerprint: HIDDEN } },
      completionChoice,
      ...usageAudit,
    ],
  },
  'createCompletion events': {
    fields: [
      { file: TEXT, type: 'Completion', at: '', others: { system_fingerprint: HIDDEN } },
      completionChoice,
      ...usageAudit,
    ],
  },
  'createEmbedding request': {
    fields: [{ file: 'embeddings.d.ts', type: 'EmbeddingCreateParams', at: '', others: {} }],
  },
  'createEmbedding answer': {
    fields: [
      { file: 'embeddings.d.ts', type: 'CreateEmbeddingResponse', at: '', others: {} },
      { file: 'embeddings.d.ts', type: 'CreateEmbeddingResponse.Usage', at: 'usage', others: {} },
      { file: 'embeddings.d.ts', type: 'Embedding', at: 'data[]', others: {} },
    ],
  },
  'createImages request': {
    fields: [
      {
        file: IMAGES,
        type: 'ImageGenerateParamsBase',
        at: '',
        others: {
          complexity: UNKNOWN,
          frame_count: UNKNOWN,
          frame_duration_ms: UNKNOWN,
          safety_identifier: UNKNOWN,
          svg: UNKNOWN,
        },
        values: {
          'output_format (gif)': UNKNOWN,
          'output_format (svg)': UNKNOWN,
          'quality (xhigh)': UNKNOWN,
          'quality (max)': UNKNOWN,
        },
      },
    ],
  },
  'createImages answer': {
    fields: [
      {
        file: IMAGES,
        type: 'ImagesResponse',
        at: '',
        others: { background: NEVER, quality: NEVER, safety_identifier: NEVER, svg_usage: NEVER },
        values: { 'output_format (gif)': NEVER, 'output_format (svg)': NEVER },
      },
      { file: IMAGES, type: 'Image', at: 'data[]', others: { revised_prompt: NEVER } },
      {
        file: IMAGES,
        type: 'ImagesResponse.Usage',
        at: 'usage',
        others: {
          input_tokens: BY_UNITS,
          input_tokens_details: BY_UNITS,
          output_tokens: BY_UNITS,
          output_tokens_details: BY_UNITS,
          total_tokens: BY_UNITS,
        },
      },
    ],
  },
  'createImages events': {
    fields: [
      {
        file: IMAGES,
        type: 'ImageGenCompletedEvent',
        at: '',
        others: { background: NEVER, quality: NEVER, safety_identifier: NEVER },
      },
    ],
    forms: [
      {
        file: IMAGES,
        type: 'ImageGenStreamEvent',
        forms: {
          ImageGenCompletedEvent: 'type',
          ImageGenPartialImageEvent: { field: '(type: image_generation.partial_image)', ...NEVER },
        },
      },
    ],
  },
  'createVideo request': { fields: [{ file: VIDEOS, type: 'VideoCreateParams', at: '', others: {} }] },
  'createVideo answer': { fields: videoAudit },
  'getVideo answer': { fields: videoAudit },
  'deleteVideo answer': {
    fields: [
      {
        file: VIDEOS,
        type: 'VideoDeleteResponse',
        at: '',
        others: {},
        values: { 'object (image.job.deleted)': OF_OTHER_JOBS, 'object (audio.job.deleted)': OF_OTHER_JOBS },
      },
    ],
  },
  'createSpeech request': {
    fields: [
      { file: 'audio/speech.d.ts', type: 'SpeechCreateParams', at: '', others: {} },
      { file: 'audio/speech.d.ts', type: 'SpeechCreateParams.ID', at: 'voice', others: {} },
    ],
  },
  'createTranscription request': {
    fields: [
      {
        file: TRANSCRIPTS,
        type: 'TranscriptionCreateParamsBase',
        at: '',
        others: {
          keywords: UNKNOWN,
          known_speaker_names: UNKNOWN,
          known_speaker_references: UNKNOWN,
          languages: UNKNOWN,
        },
      },
    ],
  },
  'createTranscription answer': {
    fields: [
      { file: TRANSCRIPTS, type: 'Transcription', at: '', others: { languages: NEVER, logprobs: NEVER } },
      { file: TRANSCRIPTS, type: 'TranscriptionVerbose', at: '', others: {} },
      segmentAudit,
      { file: TRANSCRIPTS, type: 'TranscriptionWord', at: 'words[]', others: {} },
    ],
    forms: [
      {
        file: TRANSCRIPTS,
        type: 'TranscriptionCreateResponse',
        forms: {
          Transcription: 'text',
          TranscriptionDiarized: { field: '(response_format: diarized_json)', ...UNKNOWN },
          TranscriptionVerbose: 'text',
        },
      },
    ],
  },
  'createTranscription events': {
    fields: [
      {
        file: TRANSCRIPTS,
        type: 'TranscriptionTextDeltaEvent',
        at: '',
        others: { logprobs: NEVER, segment_id: NEVER },
      },
      { file: TRANSCRIPTS, type: 'TranscriptionTextDoneEvent', at: '', others: { languages: NEVER, logprobs: NEVER } },
    ],
    forms: [
      {
        file: TRANSCRIPTS,
        type: 'TranscriptionStreamEvent',
        forms: {
          TranscriptionTextDeltaEvent: 'delta',
          TranscriptionTextDoneEvent: 'text',
          TranscriptionTextSegmentEvent: { field: '(type: transcript.text.segment)', ...NEVER },
        },
      },
    ],
  },
  'createTranslation request': {
    fields: [{ file: TRANSLATIONS, type: 'TranslationCreateParams', at: '', others: {} }],
  },
  'createTranslation answer': {
    fields: [
      { file: TRANSLATIONS, type: 'Translation', at: '', others: {} },
      { file: TRANSLATIONS, type: 'TranslationVerbose', at: '', others: {} },
      segmentAudit,
    ],
  },
  'getModel answer': { fields: [{ file: 'models.d.ts', type: 'Model', at: '', others: { shutdown_date: NEVER } }] },
};
