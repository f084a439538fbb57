import type { GateFault, Shortfall } from '@turnpike/holds/gate/gateFault';
import type { GuardFault } from '@turnpike/public-api/authFault';
import type { JobErrorCode } from '@turnpike/public-api/mediaJob';
import type { ModelNotAllowed } from '@turnpike/public-api/modelNotAllowed';
import type { BodyFault } from '@turnpike/request-reading/faults/bodyFault';
import type { KeyBoundFault, RequestFault } from '@turnpike/request-reading/faults/requestFault';

/** Why a form is not read. */
export type FormFault =
  /** The body is of another type, or names no boundary. */
  | { kind: 'form_not_form_type' }
  /** Only speech-to-text, which has an error of its own: the body has another type than a form. */
  | { kind: 'upload_not_form_type' }
  | { kind: 'form_malformed' }
  /** More parts, or longer headers or texts of parts, than any operation has. */
  | { kind: 'form_too_large'; maxParts: number; maxTextBytes: number }
  /** Only speech-to-text: every other body above the limit is malformed. `sentBytes`: its announced length. */
  | { kind: 'upload_too_large'; maxBytes: number; sentBytes: number | undefined };

/** Why a model is not served. */
export type ModelFault =
  /** Unknown, retired, not cleared for the region, or without a backend there. */
  | { kind: 'model_not_found'; textModel?: { id: string; paths: readonly string[] } }
  | { kind: 'model_disabled'; model: string }
  | ModelNotAllowed
  /** The model has no price, so it is neither run nor free. */
  | { kind: 'pricing_unavailable'; model: string }
  | { kind: 'catalog_unavailable' };

/** Why a call is not admitted. */
export type AdmissionFault = GateFault | (Shortfall & { kind: 'insufficient_balance' });

/** Why an admitted call has no result. */
export type BackendFault =
  /** No replica took the call, or the wait would be longer than clients wait. Nothing was run. */
  | { kind: 'backend_unavailable'; retryAfterSeconds: number }
  /** Too much audio waits for decoding. Nothing was run. */
  | { kind: 'transcode_overloaded'; retryAfterSeconds: number }
  /** The engine took the call and failed it. */
  | { kind: 'backend_failed' }
  /**
   * The engine refused the request as the client's mistake. `param` is the field that it named, null for none of ours.
   */
  | { kind: 'backend_refused'; param: string | null }
  | { kind: 'content_refused' }
  /** The format needs times, and the engine gives none. */
  | { kind: 'times_unavailable' }
  /** The object store cannot give the output now. */
  | { kind: 'storage_unavailable' };

/** End of a job that its call waits for. The row is there, so that a call without a retry count makes another job. */
export interface JobFault {
  kind: 'job_failed';
  code: JobErrorCode;
}

/** Why a job cannot be shown. */
export type LookUpFault =
  /** Unknown, expired, or another key's: from outside they are the same. */
  | { kind: 'job_not_found' }
  /** The job has no content yet, or none at this index. */
  | { kind: 'content_not_there' }
  /** Jobs cannot be looked up now. */
  | { kind: 'jobs_unavailable' };

/** Why a media call is refused to a key that is let in, or fails. */
export type CallFault =
  | BodyFault
  | FormFault
  | RequestFault
  | KeyBoundFault
  | ModelFault
  | AdmissionFault
  | BackendFault
  | JobFault
  | LookUpFault;

export type MediaFault = GuardFault | CallFault;
