import { isAbsolute } from 'node:path';
import { serviceUrlSchema } from '@turnpike/config/sharedSettings';
import { z } from 'zod';

const nameSchema = z.string().min(1);

/** The variables of a service that keeps objects: those of a folder, or those of a bucket. */
export const objectStoreSettings = {
  /** Folder of the objects on a laptop; nothing else may write into it. Without it they are kept in a bucket. */
  OBJECT_STORE_FOLDER: z.string().refine(isAbsolute, 'must be an absolute path').optional(),
  /** Base address of a store that speaks S3; without it the objects are kept in a folder. */
  OBJECT_STORE_URL: serviceUrlSchema.optional(),
  /** Region of the bucket, as its store calls it. */
  OBJECT_STORE_REGION: nameSchema.optional(),
  /** The bucket, which has to exist, without versions and without backups. */
  OBJECT_STORE_BUCKET: nameSchema.optional(),
  /** Names the access key that requests to the store are signed with. */
  OBJECT_STORE_ACCESS_KEY_ID: nameSchema.optional(),
  /** The secret of that access key. */
  OBJECT_STORE_SECRET_ACCESS_KEY: nameSchema.optional(),
};

const settingsSchema = z.object(objectStoreSettings);
export type ObjectStoreConfig = z.infer<typeof settingsSchema>;

const BUCKET_SETTINGS = [
  'OBJECT_STORE_URL',
  'OBJECT_STORE_REGION',
  'OBJECT_STORE_BUCKET',
  'OBJECT_STORE_ACCESS_KEY_ID',
  'OBJECT_STORE_SECRET_ACCESS_KEY',
] as const;

/**
 * For `superRefine` of a schema with these variables: they have to name a folder, or a bucket with all that belongs to it. One that
 * lacks is named like any variable that is not set.
 */
export function checkObjectStore(config: ObjectStoreConfig, context: z.RefinementCtx): void {
  const complain = (name: string, message: string): void =>
    context.addIssue({ code: 'custom', path: [name], message, input: config });
  if (config.OBJECT_STORE_FOLDER !== undefined) {
    for (const name of BUCKET_SETTINGS)
      if (config[name] !== undefined) complain(name, 'must not be set beside OBJECT_STORE_FOLDER');
  } else {
    for (const name of BUCKET_SETTINGS) if (config[name] === undefined) complain(name, 'is not set');
  }
}

interface BucketPlace {
  url: string;
  region: string;
  bucket: string;
  accessKeyId: string;
  secretAccessKey: string;
}

/** Returns the folder or the bucket that checked settings name. */
export function toPlace(config: ObjectStoreConfig): { folder: string } | BucketPlace {
  if (config.OBJECT_STORE_FOLDER !== undefined) return { folder: config.OBJECT_STORE_FOLDER };
  const get = (name: (typeof BUCKET_SETTINGS)[number]): string => {
    const value = config[name];
    if (value === undefined) throw new Error(`${name} is not set: these settings were not checked`);
    return value;
  };
  return {
    url: get('OBJECT_STORE_URL'),
    region: get('OBJECT_STORE_REGION'),
    bucket: get('OBJECT_STORE_BUCKET'),
    accessKeyId: get('OBJECT_STORE_ACCESS_KEY_ID'),
    secretAccessKey: get('OBJECT_STORE_SECRET_ACCESS_KEY'),
  };
}
