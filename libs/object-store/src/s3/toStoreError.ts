import { S3ServiceException } from '@aws-sdk/client-s3';
import { ObjectStoreError, type UnavailableReason, unavailable } from '../objectStoreError.ts';

/** Converts an error of the S3 client. A HEAD request for a missing object fails with status 404 and no code. */
export function toStoreError(error: unknown): ObjectStoreError {
  if (error instanceof ObjectStoreError) return error;
  if (!(error instanceof S3ServiceException)) return unavailable(toReason(error), error);
  if (isMissing(error)) return new ObjectStoreError('missing', { cause: error });
  if (error.$metadata.httpStatusCode === 412) return new ObjectStoreError('exists', { cause: error });
  return unavailable(toReason(error), error);
}

const isMissing = ({ name }: S3ServiceException): boolean => name === 'NoSuchKey' || name === 'NotFound';

function toReason(error: unknown): UnavailableReason {
  if (error instanceof S3ServiceException) {
    const { httpStatusCode: status = 0 } = error.$metadata;
    if (status === 429 || status === 503 || error.name === 'SlowDown') return 'overloaded';
    if (status >= 500) return 'failing';
    return status >= 400 ? 'refused' : 'broken_off';
  }
  const { code, name } = error as NodeJS.ErrnoException;
  // The client calls a connection that broke a timeout, too.
  const hasBroken = code === 'ECONNRESET' || code === 'EPIPE';
  return (name === 'TimeoutError' && !hasBroken) || name === 'AbortError' ? 'deadline' : 'broken_off';
}
