import { z } from 'zod';
import type { Access } from '../client.ts';
import { watchFetch } from '../npm/createNpmClient.ts';

/** A job for a client of one API: plain data, so that another process can read it. */
export interface Job {
  /** `say`: a text. `work`: with the tool `note`, called until the model ends. `parse`: an object, as a `Trip`. */
  do: 'say' | 'work' | 'parse';
  model: string;
  prompt: string;
  stream: boolean;
}

export const jobSeenSchema = z.object({
  /** Every answer that reached the client, in order. */
  calls: z.array(z.object({ callId: z.string().nullable(), status: z.number() })),
  text: z.string().optional(),
  /** The texts that the tool `note` was called with. */
  notes: z.array(z.string()).optional(),
  value: z.unknown().optional(),
  /** Tokens of all calls as the client counts them, those of a cache included. */
  tokens: z.object({ input: z.number(), output: z.number() }).optional(),
  refusal: z.object({ status: z.number().optional(), message: z.string() }).optional(),
});
export type JobSeen = z.output<typeof jobSeenSchema>;
export type Result = Required<Pick<JobSeen, 'text' | 'tokens'>> & Pick<JobSeen, 'notes' | 'value'>;

/** A client library that speaks the Responses API or the Messages API. */
export interface ApiClient {
  name: string;
  canParse?: boolean;
  obey(job: Job, access: Access): Promise<JobSeen>;
  open?(): Promise<void>;
  close?(): Promise<void>;
}

/** The answer of the tool `note`. */
export const NOTED = 'noted ✓';
export const noteSchema = z.object({ text: z.string() });
export const NOTE_PARAMETERS = {
  type: 'object',
  properties: { text: { type: 'string' } },
  required: ['text'],
  additionalProperties: false,
} as const;
export const readNote = (json: string): string => noteSchema.parse(JSON.parse(json)).text;

/** The gateway's address for a client of this process. Its calls use this `fetch`, and are not repeated. */
export interface NodeAccess {
  baseUrl: string;
  apiKey: string;
  fetch: typeof fetch;
}

/** A client that runs in this process. Its errors have a status, under one of two names. */
export const createNodeClient = (
  name: string,
  answer: (job: Job, access: NodeAccess) => Promise<Result>,
  options: Pick<ApiClient, 'canParse'> = {},
): ApiClient => ({
  name,
  ...options,
  async obey(job, access) {
    const calls: JobSeen['calls'] = [];
    try {
      return { calls, ...(await answer(job, { ...access, fetch: watchFetch(calls, access.headers) })) };
    } catch (error) {
      const { status, statusCode = status, message } = error as Error & { status?: number; statusCode?: number };
      if (statusCode === undefined) throw error;
      return { calls, refusal: { status: statusCode, message } };
    }
  },
});
