/** One JSON line from a launcher to its reaper. */
export type ReaperMessage =
  /** Stop this process group, should the launcher end without having done so. */
  | { type: 'watch'; group: number; stopSignal: 'SIGTERM' | 'SIGINT' }
  /** The group has ended; its number may be another's soon. */
  | { type: 'forget'; group: number }
  /** A file that tells of the running stack, and has to go with it. */
  | { type: 'remove'; file: string }
  /** A link that leads to such a file: once that is gone it leads to another stack's, or goes too. */
  | { type: 'unlink'; link: string; file: string };
