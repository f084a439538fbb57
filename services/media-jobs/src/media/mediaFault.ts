export type MediaFaultKind =
  /** A backend's output is empty, cut off, of another kind or of another size. */
  | 'invalid_output'
  /** The upload has no sound that can be read. */
  | 'invalid_input'
  /** The recording lasts longer than it may. */
  | 'too_long'
  /** The recording has too many channels or samples a second. */
  | 'too_dense'
  /** Too much waits to be converted already, or this takes longer than it may. */
  | 'overloaded';

/** Why a file cannot be used. Its message has no content of the file and no text of a tool. */
export class MediaFault extends Error {
  override name = 'MediaFault';
  readonly kind: MediaFaultKind;

  constructor(kind: MediaFaultKind, { cause }: { cause?: unknown } = {}) {
    super(kind, { cause });
    this.kind = kind;
  }
}
