import { ApiError } from '@turnpike/public-api/apiError';
import { readBody } from '@turnpike/request-reading/body/readBody';
import { createImageLoader } from '@turnpike/request-reading/images/createImageLoader';
import { resolveHost } from '@turnpike/request-reading/images/resolveHost';
import { createBodyMemory } from '@turnpike/request-reading/shares/bodyMemory';
import { createKeyAllowance } from '@turnpike/request-reading/shares/keyAllowance';
import type { CallFault, FormFault } from '../api/mediaFault.ts';
import type { ImageRequest, MediaRequest, SpeechRequest, TranscriptRequest } from '../terms/mediaRequest.ts';
import { type Exchange, type FormLimits, isForm, readForm } from './form/readForm.ts';
import { toFormValue } from './form/toFormValue.ts';
import type { MediaDraft } from './mediaDraft.ts';
import { draftImageRequest } from './operations/imageRequest.ts';
import { draftSpeechRequest } from './operations/speechRequest.ts';
import { draftTranscriptRequest } from './operations/transcriptRequest.ts';
import { draftVideoRequest, type VideoDraft } from './operations/videoRequest.ts';
import { type CallCapacity, openCallCapacity } from './uploads/callCapacity.ts';
import { openUploadFolder } from './uploads/uploadFolder.ts';

const MIB = 1_048_576;
const JSON_LIMITS = { maxBytes: MIB, maxTextBytes: MIB };
/** Most of it is an image. */
const VIDEO_JSON_LIMITS = { maxBytes: 20 * MIB, maxTextBytes: MIB };
const VIDEO_FORM_LIMITS: FormLimits = {
  maxBytes: VIDEO_JSON_LIMITS.maxBytes,
  // An image may come as the text of a data URL.
  maxTextBytes: VIDEO_JSON_LIMITS.maxBytes,
  fileParts: new Map([['input_reference', 'file or text']]),
  tooLarge: (sentBytes) => ({ kind: 'body_too_large', maxBytes: VIDEO_JSON_LIMITS.maxBytes, sentBytes }),
};
const UPLOAD_MAX_BYTES = 25 * MIB;
const UPLOAD_LIMITS: FormLimits = {
  maxBytes: UPLOAD_MAX_BYTES,
  maxTextBytes: MIB / 8,
  fileParts: new Map([['file', 'file']]),
  tooLarge: (sentBytes) => ({ kind: 'upload_too_large', maxBytes: UPLOAD_MAX_BYTES, sentBytes }),
};

/** A request has one image, so a key has as many calls in progress as fetches. */
const IMAGE_FETCHES = { inAll: 64, perWorkspace: 16, waitingPerKey: 48 };
const IMAGE_WAIT_MS = 2_000;

/**
 * Allowance of body bytes that are read for refused calls. Reading a second's bytes takes some 40 ms of CPU time. Files
 * of uploads go to a disk and do not count.
 */
const REFUSED_BODIES = { bound: 'refused_bodies', capacity: 8 * MIB, refillMs: 2_000, least: 1_024 } as const;

/** Refusals of complete bodies that are the key's doing. */
const OF_THE_KEY: ReadonlySet<CallFault['kind']> = new Set([
  'body_not_utf8',
  'body_not_json',
  'body_not_an_object',
  'body_too_deep',
  'body_too_many_values',
  'body_too_many_fields',
  'body_object_too_large',
  'body_too_many_dear_keys',
  'body_text_too_large',
  'body_key_repeated',
  'body_keys_unreadable',
  'body_text_unsendable',
  'form_malformed',
  'form_too_large',
  'invalid_request',
  'model_not_found',
  'model_not_allowed',
  'account_on_hold',
  'billing_not_provisioned',
  'insufficient_balance',
  'spend_cap_reached',
  'rate_limited',
]);

export interface RequestsOptions {
  /** Folder private to this process, and emptied at the start. */
  folder: string;
  /** Memory of the bodies of all calls in progress. */
  memoryMaxBytes: number;
  /** Most disk of the files of all calls. */
  diskMaxBytes: number;
  imagesTimeoutMs: number;
  /** Hosts and ports, `host:port`, of images that are not public. */
  imagePrivateHosts: ReadonlySet<string>;
}

/**
 * Reads the bodies of media calls. `api` has the errors of the thrown faults; then everything read is freed. A key with
 * too many bytes read for refused calls gets `key_bound_reached` for a while.
 */
export interface Requests {
  readImageRequest(exchange: Exchange, keyId: string): Promise<MediaDraft<ImageRequest>>;
  readVideoRequest(exchange: Exchange, keyId: string): Promise<VideoDraft>;
  readSpeechRequest(exchange: Exchange, keyId: string): Promise<MediaDraft<SpeechRequest>>;
  readTranscriptRequest(
    operation: TranscriptRequest['operation'],
    exchange: Exchange,
    keyId: string,
  ): Promise<MediaDraft<TranscriptRequest>>;
  /** Uploads of calls in progress, on this disk. */
  uploads(): { files: number; bytes: number };
}

export async function openRequests(options: RequestsOptions): Promise<Requests> {
  const capacity = {
    memory: createBodyMemory(options.memoryMaxBytes),
    disk: createBodyMemory(options.diskMaxBytes),
    folder: await openUploadFolder(options.folder),
  };
  const images = createImageLoader({
    privateHosts: options.imagePrivateHosts,
    resolve: resolveHost,
    times: { timeoutMs: options.imagesTimeoutMs, waitMs: IMAGE_WAIT_MS },
    limits: IMAGE_FETCHES,
  });

  const refusedBodies = createKeyAllowance(REFUSED_BODIES);

  /** A draft with what it was read from, which goes with it. */
  async function within<Request extends MediaRequest, Draft extends Omit<MediaDraft<Request>, 'refused' | 'discard'>>(
    keyId: string,
    read: (call: CallCapacity, keep: (file: { discard(): Promise<void> }) => void) => Promise<Draft>,
  ): Promise<Draft & Pick<MediaDraft<Request>, 'refused' | 'discard'>> {
    refusedBodies.check(keyId);
    const call = openCallCapacity(capacity, keyId);
    const kept: { discard(): Promise<void> }[] = [];
    const discard = async (): Promise<void> => {
      await Promise.all(kept.map((file) => file.discard()));
      call.close();
    };
    const refused = (error: unknown): void => {
      const isOfTheKey = error instanceof ApiError && OF_THE_KEY.has((error.fault as CallFault).kind);
      if (isOfTheKey) refusedBodies.take(keyId, call.memory.bytes);
    };
    try {
      const draft = await read(call, (file) => kept.push(file));
      return { ...draft, refused, discard };
    } catch (error) {
      refused(error);
      await discard();
      throw error;
    }
  }

  return {
    readImageRequest: ({ req }, keyId) =>
      within(keyId, async ({ memory }) => draftImageRequest((await readBody(req, JSON_LIMITS, memory)).value)),
    readSpeechRequest: ({ req }, keyId) =>
      within(keyId, async ({ memory }) => draftSpeechRequest((await readBody(req, JSON_LIMITS, memory)).value)),
    readVideoRequest: (exchange, keyId) =>
      within(keyId, async (call, keep) => {
        if (!isForm(exchange.req)) {
          const { value } = await readBody(exchange.req, VIDEO_JSON_LIMITS, call.memory);
          return draftVideoRequest(value, { file: undefined, images, room: call.memory });
        }
        const form = await readForm(exchange, VIDEO_FORM_LIMITS, call);
        const file = form.files.get('input_reference');
        if (file) keep(file);
        return draftVideoRequest(toFormValue(form, {}), { file, images, room: call.memory });
      }),
    readTranscriptRequest: (operation, exchange, keyId) =>
      within(keyId, async (call, keep) => {
        const type = exchange.req.headers['content-type'];
        if (type !== undefined && !isForm(exchange.req))
          throw new ApiError<FormFault>({ kind: 'upload_not_form_type' });
        const form = await readForm(exchange, UPLOAD_LIMITS, call);
        for (const file of form.files.values()) keep(file);
        return draftTranscriptRequest(operation, form);
      }),
    uploads: () => capacity.folder.held(),
  };
}
