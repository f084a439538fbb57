/** Why an image cannot be used. For the log alone: clients are told one and the same, whatever the reason. */
export type ImageErrorReason =
  | 'url_not_allowed'
  | 'name_not_found'
  | 'address_not_public'
  | 'connection_failed'
  | 'too_slow'
  | 'too_many_redirects'
  | 'unexpected_status'
  | 'encoded'
  | 'too_large'
  | 'not_an_image'
  | 'too_many_pixels';

/** An image that the client has to send in another way: nothing of ours went wrong. */
export class ImageError extends Error {
  override name = 'ImageError';
  readonly reason: ImageErrorReason;

  constructor(reason: ImageErrorReason, options?: ErrorOptions) {
    super(reason, options);
    this.reason = reason;
  }
}
