import type { RequestHandler } from 'express';
import { KEPT_IN_CHATS, parseChatRequest } from '../request/chatRequest.ts';
import { createInference, type InferenceDependencies } from './createInference.ts';

const MIB = 1_048_576;

/** POST /v1/chat/completions. */
export const createChatCompletion = (dependencies: InferenceDependencies): RequestHandler =>
  createInference(dependencies, {
    parse: parseChatRequest,
    limits: { maxBytes: 20 * MIB, maxTextBytes: 4 * MIB, kept: KEPT_IN_CHATS },
  });
