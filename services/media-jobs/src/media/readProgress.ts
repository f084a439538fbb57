/** What ffmpeg said last of how far it is, which it does where it is told `-progress pipe:1`. */
export function readProgress(text: string): { frames: number; seconds: number } {
  const last = (name: string): number =>
    Number([...text.matchAll(new RegExp(`^${name}=(\\d+)$`, 'gm'))].at(-1)?.[1] ?? 0);
  return { frames: last('frame'), seconds: last('out_time_us') / 1_000_000 };
}
