import { createHmac } from 'node:crypto';
import { crc32 } from 'node:zlib';
import type { NamedSecret } from '@turnpike/config/secrets';
import type { PricedModel } from '../catalog/catalog.ts';
import type { InferenceRequest } from '../request/inferenceRequest.ts';
import { DEFAULT_CACHE_BYTES } from './terms/limits.ts';

/** Bytes that an image counts as, some 256 tokens of text. */
const IMAGE_BYTES = 1_024;
/**
 * Characters of an image's address that are hashed at its beginning, middle and end. They identify an image of any
 * size.
 */
const IMAGE_SAMPLE_LENGTH = 2_048;

/** The beginning of the prompt that an engine computes for a call, and the prompt's length. */
export interface RenderedPrompt {
  /** Ends where hashing ends. The buffer is reused by the next prompt, so it has to be hashed before that. */
  beginning: Buffer;
  bytes: number;
}

/**
 * Renders a prompt in the order of engines: tools, then each message with its parts, an image as its digest. Equal
 * prompts give equal bytes for any JSON formatting.
 */
export function renderPrefix({ operation, written }: Pick<InferenceRequest, 'operation' | 'written'>): RenderedPrompt {
  const pieces: string[] = [];
  for (const name of operation.prefixMembers) {
    const member = written[name];
    if (typeof member === 'string') pieces.push(member);
    else if (Array.isArray(member) && name === 'messages') for (const message of member) renderMessage(message, pieces);
    else if (Array.isArray(member) && member.length > 0) pieces.push(JSON.stringify(member));
  }
  return write(pieces);
}

function renderMessage(message: Record<string, unknown>, pieces: string[]): void {
  const { role, content, ...others } = message;
  pieces.push(`\n${String(role)}\n`);
  if (typeof content === 'string') pieces.push(content);
  for (const part of Array.isArray(content) ? content : []) pieces.push(renderPart(part));
  for (const name in others) if (others[name] !== undefined) pieces.push(name, JSON.stringify(others[name]));
}

function renderPart(part: Record<string, unknown>): string {
  if (part.type !== 'image_url') return String(part.text ?? part.refusal ?? '');
  const image: unknown = part.image_url;
  const url = typeof image === 'object' && image !== null && 'url' in image ? image.url : image;
  return digestOf(String(url)).repeat(IMAGE_BYTES / DIGEST_LENGTH);
}

const DIGEST_LENGTH = 8;

function digestOf(url: string): string {
  const middle = url.length >>> 1;
  const sample =
    url.length <= 3 * IMAGE_SAMPLE_LENGTH
      ? url
      : url.slice(0, IMAGE_SAMPLE_LENGTH) +
        url.slice(middle, middle + IMAGE_SAMPLE_LENGTH) +
        url.slice(-IMAGE_SAMPLE_LENGTH);
  return crc32(sample, url.length).toString(16).padStart(DIGEST_LENGTH, '0');
}

/** A text of so many characters is written by itself: to join it to others would copy it once more. */
const LONG_PIECE = 4_096;

const encoder = new TextEncoder();

/** Writes pieces as far as they are hashed. What is beyond counts by its characters, which is near enough. */
function write(pieces: readonly string[]): RenderedPrompt {
  let text = '';
  let end = 0;
  let beyond = 0;
  const flush = (piece: string): void => {
    const { read, written } = encoder.encodeInto(piece, rendered.subarray(end));
    end += written;
    beyond += piece.length - read;
  };
  for (const piece of pieces) {
    if (piece.length < LONG_PIECE) text += piece;
    if (piece.length < LONG_PIECE && text.length < LONG_PIECE) continue;
    flush(text);
    text = '';
    if (piece.length >= LONG_PIECE) flush(piece);
  }
  flush(text);
  return { beginning: rendered.subarray(0, end), bytes: end + beyond };
}

/** Bytes of a block at the beginning of a prompt: about 128 tokens, eight blocks of an engine. */
const FINE_BYTES = 512;
const FINE_BLOCKS = 32;
/** Bytes of a later block. A few hundred tokens no longer distinguish engines there, and long prompts stay cheap. */
const COARSE_BYTES = 2_048;
const MAX_BLOCKS = 512;
const FINE_END = FINE_BLOCKS * FINE_BYTES;

/** Returns the end of the first `blocks` blocks of a prompt, in bytes. */
export const endOfBlocks = (blocks: number): number =>
  blocks <= FINE_BLOCKS ? blocks * FINE_BYTES : FINE_END + (blocks - FINE_BLOCKS) * COARSE_BYTES;

/** Returns the number of whole blocks within the first `bytes` bytes. */
export const blocksWithin = (bytes: number): number =>
  bytes <= FINE_END ? Math.floor(bytes / FINE_BYTES) : FINE_BLOCKS + Math.floor((bytes - FINE_END) / COARSE_BYTES);

/** Bytes of a prompt that are hashed; no more of it need be rendered. */
export const MAX_HASHED_BYTES = endOfBlocks(MAX_BLOCKS);

/** The buffer in which every prompt is rendered. A buffer for each long prompt would cost more than the rest. */
const rendered = Buffer.allocUnsafeSlow(MAX_HASHED_BYTES);

/**
 * A prompt as chained block hashes, each naming the whole prefix up to its end. `scope` is what separates caches: the
 * model and the salt. A collision costs a worse placement and nothing else.
 */
export function hashPrefix(scope: string, prompt: Buffer): number[] {
  const blocks = Math.min(MAX_BLOCKS, blocksWithin(prompt.length));
  const hashes: number[] = [];
  let hash = crc32(scope);
  for (let block = 0; block < blocks; block += 1) {
    hash = crc32(prompt.subarray(endOfBlocks(block), endOfBlocks(block + 1)), hash);
    hashes.push(hash);
  }
  return hashes;
}

interface Block {
  readonly hash: number;
  bytes: number;
  /** The number of the call that was sent here last with this block. */
  call: number;
  /** Neighbours by last use, in a ring closed by a block that holds nothing. */
  older: Block;
  newer: Block;
}

/** Creates a block that is the only one of its ring. */
function aBlock(hash: number, call: number): Block {
  const block = { hash, bytes: 0, call } as Block;
  block.older = block;
  block.newer = block;
  return block;
}

/**
 * The expected content of one engine's prefix cache: the last prefixes sent there, up to its capacity. A block is never
 * older than one behind it in its prompt. So the tail of the oldest prompt is forgotten first, and the index has whole
 * prefixes only.
 */
export class PrefixIndex {
  /** Blocks by hash, as signed 32-bit numbers, because V8 stores larger ones as objects. */
  readonly #blocks = new Map<number, Block>();
  /** The end of the ring, between the newest and the oldest block. */
  readonly #end = aBlock(0, 0);
  #bytes = 0;
  capacityBytes = DEFAULT_CACHE_BYTES;

  /** Returns how many of the prompt's leading blocks are cached. */
  match(hashes: readonly number[]): number {
    let matched = 0;
    let missing = hashes.length + 1;
    while (missing - matched > 1) {
      const middle = (matched + missing) >>> 1;
      if (this.#blocks.has((hashes[middle - 1] ?? 0) | 0)) matched = middle;
      else missing = middle;
    }
    return matched;
  }

  /**
   * Notes that a call with this prompt was sent to the engine. Calls are numbered from 1 upwards. Returns the numbers
   * of the calls that brought each known leading block.
   */
  add(hashes: readonly number[], call: number): number[] {
    const broughtBy: number[] = [];
    for (let at = hashes.length - 1; at >= 0; at -= 1) {
      const hash = (hashes[at] ?? 0) | 0;
      let block = this.#blocks.get(hash);
      if (block) {
        broughtBy.push(block.call);
        unlink(block);
      } else {
        block = aBlock(hash, call);
        this.#blocks.set(hash, block);
      }
      const bytes = endOfBlocks(at + 1) - endOfBlocks(at);
      this.#bytes += bytes - block.bytes;
      block.bytes = bytes;
      block.call = call;
      linkBelow(block, this.#end);
    }
    while (this.#bytes > this.capacityBytes && this.#end.newer !== this.#end) this.#remove(this.#end.newer);
    return broughtBy.reverse();
  }

  /** Forgets every block that no call after `call` has used, because the engine dropped a block of that age. */
  forgetUpTo(call: number): void {
    while (this.#end.newer !== this.#end && this.#end.newer.call <= call) this.#remove(this.#end.newer);
  }

  /** Forgets everything, for an engine that was restarted. */
  clear(): void {
    this.forgetUpTo(Number.POSITIVE_INFINITY);
  }

  #remove(block: Block): void {
    this.#blocks.delete(block.hash);
    this.#bytes -= block.bytes;
    unlink(block);
  }
}

/** Inserts a block as the next older one of another. */
function linkBelow(block: Block, newer: Block): void {
  block.newer = newer;
  block.older = newer.older;
  newer.older.newer = block;
  newer.older = block;
}

function unlink({ older, newer }: Block): void {
  older.newer = newer;
  newer.older = older;
}

/** Number of cached salts, above the workspaces that call within minutes. Computing one again takes microseconds. */
const MAX_KEPT_SALTS = 10_000;

/** Returns the salt of a call, which separates its prefix cache on a shared engine. */
export type CacheSaltOf = (call: {
  workspaceId: string;
  model: Pick<PricedModel, 'id' | 'sharesPrefixCache'>;
}) => string;

/**
 * Creates `cacheSaltOf`. Each workspace has a salt, so that response times do not reveal other workspaces' prompts. A
 * model has one salt for all if its catalog entry lets workspaces share. Salts are Base64url, because engines refuse
 * `/` in a salt.
 */
export function createCacheSalt([key]: NamedSecret[]): CacheSaltOf {
  if (!key) throw new Error('no key to make cache salts with');
  const salts = new Map<string, string>();
  return ({ workspaceId, model }) => {
    // Workspace ids have no space, so the two kinds of salt never collide.
    const owner = model.sharesPrefixCache ? `model ${model.id}` : workspaceId;
    const known = salts.get(owner);
    if (known !== undefined) return known;
    const salt = createHmac('sha256', key.secret).update(owner).digest('base64url');
    if (salts.size === MAX_KEPT_SALTS) salts.clear();
    salts.set(owner, salt);
    return salt;
  };
}
