import type { RequestHandler } from 'express';
import { parseCompletionRequest } from '../request/completionRequest.ts';
import { createInference, type InferenceDependencies } from './createInference.ts';

const LIMIT_BYTES = 8 * 1_048_576;

/** POST /v1/completions. */
export const createCompletion = (dependencies: InferenceDependencies): RequestHandler =>
  createInference(dependencies, {
    parse: parseCompletionRequest,
    limits: { maxBytes: LIMIT_BYTES, maxTextBytes: LIMIT_BYTES },
  });
