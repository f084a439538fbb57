/** A day, alone or with a time on a whole hour in UTC. Years have four digits that Postgres knows as well. */
const PATTERN = /^(2\d{3}-\d{2}-\d{2})(?:T(\d{2}):00:00(?:\.0{1,9})?(?:Z|\+00:00))?$/i;

/** The instant that a date (`2026-11-30`, its first hour in UTC) or an RFC 3339 instant on a whole UTC hour names. */
export function parseHour(text: string): Date | undefined {
  const [, day, hour = '00'] = PATTERN.exec(text) ?? [];
  if (day === undefined) return undefined;
  const instant = new Date(`${day}T${hour}:00:00.000Z`);
  // 30 February and 24 o'clock are no instants, or are taken for a later one.
  const isReal = !Number.isNaN(instant.getTime()) && instant.toISOString().startsWith(`${day}T${hour}:`);
  return isReal ? instant : undefined;
}
