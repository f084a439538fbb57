/** Text that is refused: it cannot be sent on as UTF-8, or cannot be kept in Postgres. */
export type UnsendableText = 'a NUL character' | 'half a surrogate pair';

/** Why a body is not read. */
export type BodyFault =
  /** `sentBytes`: its announced length. */
  | { kind: 'body_too_large'; maxBytes: number; sentBytes?: number | undefined }
  | { kind: 'body_compressed' }
  | { kind: 'body_not_json_type' }
  | { kind: 'body_not_utf8' }
  | { kind: 'body_not_json' }
  | { kind: 'body_not_an_object' }
  | { kind: 'body_too_deep'; maxDepth: number }
  | { kind: 'body_too_many_values'; maxValues: number }
  | { kind: 'body_too_many_fields'; maxFields: number }
  | { kind: 'body_object_too_large'; maxFields: number }
  /** Keys that begin with a digit or hold an escape, of which the last was in this field. */
  | { kind: 'body_too_many_dear_keys'; maxKeys: number; param: string | null }
  | { kind: 'body_text_too_large'; maxBytes: number }
  /** A key stands twice in one object, where it was looked for which: parsers differ in which one they take. */
  | { kind: 'body_key_repeated'; param: string | null }
  /** The parser did not find the keys that stand in the bytes. */
  | { kind: 'body_keys_unreadable' }
  /** A text, at this place, that is no Unicode text or holds a NUL character. */
  | { kind: 'body_text_unsendable'; has: UnsendableText; param: string | null }
  /** Other calls' bodies take all the room there is for bodies. */
  | { kind: 'no_room_for_body' }
  /** No byte of the body has come for so long. */
  | { kind: 'body_too_slow'; silenceMs: number }
  /** The body has been coming for so long and is not whole. */
  | { kind: 'body_unfinished'; wholeMs: number }
  /** The client left before its body was whole: nobody is there to be told. */
  | { kind: 'body_aborted' };
