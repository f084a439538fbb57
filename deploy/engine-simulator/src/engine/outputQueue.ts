/** Output on its way to the client. `completionTokens` is the answer's running count when it was made. */
export interface Delta {
  kind: 'reasoning' | 'content' | 'tool_name' | 'tool_arguments';
  text: string;
  completionTokens: number;
  toolIndex?: number;
  toolCallId?: string;
}

/**
 * Deltas waiting for their reader. While the reader is slow, a delta joins the one before it, so that what waits is never
 * more than the answer's own text.
 */
export class OutputQueue {
  isMerging = false;
  #deltas: Delta[] = [];

  push(delta: Delta): void {
    const last = this.#deltas.at(-1);
    if (this.isMerging && last && canJoin(last, delta)) {
      last.text += delta.text;
      last.completionTokens = delta.completionTokens;
    } else {
      this.#deltas.push(delta);
    }
  }

  /** All that waits; the queue is empty afterwards. */
  take(): Delta[] {
    const deltas = this.#deltas;
    this.#deltas = [];
    return deltas;
  }
}

const canJoin = (last: Delta, next: Delta): boolean =>
  last.kind === next.kind && last.toolIndex === next.toolIndex && next.kind !== 'tool_name';
