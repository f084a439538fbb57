import type { Modality } from './modality.ts';

/** The inference operations, as usage rows and completion events name them. */
export const OPERATION_NAMES = ['chat', 'completions', 'embeddings'] as const;

export type OperationName = (typeof OPERATION_NAMES)[number];

/** Paths of the operations, both of this API and of the engines. */
export const OPERATION_PATHS: Readonly<Record<OperationName, string>> = {
  chat: '/v1/chat/completions',
  completions: '/v1/completions',
  embeddings: '/v1/embeddings',
};

/** The media operations, as usage rows and completion events name them, with the modality of each. */
export const MEDIA_OPERATIONS = {
  'images.generations': 'image',
  videos: 'video',
  'audio.speech': 'audio',
  'audio.transcriptions': 'audio',
  'audio.translations': 'audio',
} as const satisfies Record<string, Modality>;

/** Other ways to say a chat: each is served as one, and engines know nothing of them. */
export const CHAT_API_PATHS = { responses: '/v1/responses', messages: '/v1/messages' } as const;
export const COUNT_TOKENS_PATH = '/v1/messages/count_tokens';
