import { writeFile } from 'node:fs/promises';

/** A small heap and the quick compiler: the server of a laptop starts in a second or two and moves little. */
export const JAVA_FLAGS = ['-Xms64m', '-Xmx256m', '-XX:TieredStopAtLevel=1', '-XX:+UseSerialGC'];

/** Writes a server's settings for the owner alone, as a command line shows to every user of the machine. */
export const writeProperties = (file: string, properties: Record<string, string | number | boolean>): Promise<void> =>
  writeFile(
    file,
    Object.entries(properties).map(([name, value]) => `${name}=${value}\n`),
    { mode: 0o600 },
  );
