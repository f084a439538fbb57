import { createHash } from 'node:crypto';
import type { KeptAnswer, Processor } from '../state/processor.ts';
import { ApiFault } from './apiFault.ts';

const KEPT_SECONDS = 24 * 3_600;
const LONGEST_KEY = 255;

/** A request with an idempotency key. */
export interface KeyedRequest {
  key: string;
  path: string;
  form: string;
  requestId: string;
}

/** The answers that are kept under idempotency keys, and the keys whose requests are under way. */
export class Idempotency {
  readonly #processor: Processor;
  readonly #underWay = new Set<string>();

  constructor(processor: Processor) {
    this.#processor = processor;
  }

  /**
   * Returns the answer that a key already has, or takes the key for this request.
   * Throws if the key was used for another path or other parameters, or if its request is still under way.
   */
  take({ key, path, form }: KeyedRequest): KeptAnswer | undefined {
    if (key.length > LONGEST_KEY) throw refuse(400, `Idempotency keys have at most ${LONGEST_KEY} characters.`);
    if (this.#underWay.has(key))
      throw refuse(
        409,
        `There is currently another in-progress request using this Idempotent Key (that probably means you submitted twice, and the other request is still going through): ${key}. Please try again later.`,
        'idempotency_key_in_use',
      );
    const kept = this.#processor.keptAnswers.find(key);
    if (kept !== undefined && kept.created + KEPT_SECONDS > this.#processor.now()) {
      const advice = `Try using a key other than '${key}' if you meant to execute a different request.`;
      if (kept.path !== path)
        throw refuse(
          400,
          `Keys for idempotent requests can only be used for the same endpoint they were first used for ('${path}' vs '${kept.path}'). ${advice}`,
        );
      if (kept.parameters !== hash(form))
        throw refuse(
          400,
          `Keys for idempotent requests can only be used with the same parameters they were first used with. ${advice}`,
        );
      return kept;
    }
    this.#underWay.add(key);
    return undefined;
  }

  /** Keeps the answer of a request, in place of an older one. */
  keep({ key, path, form, requestId }: KeyedRequest, { status, body }: { status: number; body: object }): void {
    const { keptAnswers } = this.#processor;
    keptAnswers.remove(key);
    keptAnswers.add({ id: key, created: this.#processor.now(), path, parameters: hash(form), requestId, status, body });
  }

  /** Lets the key of a request that was taken be used again. */
  release({ key }: KeyedRequest): void {
    this.#underWay.delete(key);
  }
}

const hash = (form: string): string => createHash('sha256').update(form).digest('hex');

const refuse = (status: number, message: string, code?: string): ApiFault =>
  new ApiFault(status, { type: 'idempotency_error', message, ...(code && { code }) }, { isKept: false });
