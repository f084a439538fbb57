import { existsSync } from 'node:fs';
import { readdir, readlink, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { basename, dirname, join, relative } from 'node:path';
import type { Region } from '@turnpike/config/region';
import type { GlobalService, RegionService } from '@turnpike/config/services';

interface StackService {
  url: string;
  internal_url: string;
  pid: number;
}

/** The addresses of one region of a running stack, for tests, benchmarks and people's own scripts. */
export interface StackRegion {
  /** Base address for clients. It ends in `/v1`. */
  base_url: string;
  /** A key of a workspace with credit. */
  api_key: string;
  services: Record<RegionService, StackService>;
  /** An engine that the stack did not start has no pid here. */
  engines: { url: string; pid: number | null }[];
  /** Empty where the engines are real. */
  simulator_admin_urls: string[];
  /** The simulated media backends; empty where the engines are real. */
  media_backends: { id: string; model: string; url: string; admin_url: string }[];
  /** The console host, for browsers with a console token. */
  console_url: string;
  /** The file of the region's secrets, for the operator's command line. Only its owner may read it. */
  secrets_file: string;
  /** The superuser's address of the database `postgres`; the services' own are `auth`, `catalog`, `ledger` and `media`. */
  postgres_url: string;
  redis_url: string;
  /** Comma separated; null where the event log is the embedded one. */
  kafka_brokers: string | null;
}

/** The content of `stack.json`: the addresses of a stack with its regions. */
export interface StackDescription<Name extends Region = 'us'> {
  /** The first of the stack's ports, by which people name it. */
  port_base: number;
  /** The services that all regions have together. */
  services: Record<GlobalService, StackService>;
  /** The addresses of the account layer, as browsers use them. */
  account: {
    /** The address of the account layer, without a path. */
    origin: string;
    /** The issuer of the identity provider. */
    identity_provider_url: string;
    /** The page and the JSON of the mails. */
    mail_catcher_url: string;
    /** The pages of the payments simulator. */
    payments_url: string;
    payments_admin_url: string;
  };
  /** A second name of the `us` edge, as older clients have it; null where the stack has no `us`. */
  legacy_base_url: string | null;
  regions: Record<Name, StackRegion>;
}

/** Writes the description whole or not at all, for the owner alone: it holds a key. */
export async function writeStackFile(file: string, stack: StackDescription<Region>): Promise<void> {
  const partial = `${file}.partial`;
  await writeFile(partial, `${JSON.stringify(stack, null, 2)}\n`, { mode: 0o600 });
  await rename(partial, file);
}

/**
 * Makes `link` lead to a stack's own description, so that the latest stack is found without knowing its ports. Where that
 * stack ends, `unlinkStackFile` has to follow.
 */
export async function linkStackFile(link: string, file: string): Promise<void> {
  const partial = `${link}.${process.pid}.partial`;
  await symlink(relative(dirname(link), file), partial);
  await rename(partial, link);
}

/**
 * Makes the link lead to another stack that still runs, or removes it where there is none. Changes nothing if it leads to
 * another one already.
 */
export async function unlinkStackFile(link: string, file: string): Promise<void> {
  const target = await readlink(link).catch(() => undefined);
  if (target !== relative(dirname(link), file)) return;
  const folders = await readdir(dirname(link), { withFileTypes: true });
  const others = folders
    .filter((folder) => folder.isDirectory())
    .map((folder) => join(folder.parentPath, folder.name, basename(file)));
  const other = others.find((candidate) => candidate !== file && existsSync(candidate));
  if (other) await linkStackFile(link, other);
  else await rm(link, { force: true });
}
