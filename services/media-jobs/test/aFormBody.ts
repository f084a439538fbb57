/** A part of a form: a file where it has a file name. */
export interface FormPart {
  name: string;
  value: string | Buffer;
  fileName?: string;
}

export const BOUNDARY = 'turnpike-form-7f3a';
export const FORM_TYPE = `multipart/form-data; boundary=${BOUNDARY}`;

/** The bytes of a form, as the usual clients write them. */
export function aFormBody(...parts: FormPart[]): Buffer {
  const pieces = parts.flatMap(({ name, value, fileName }) => [
    `--${BOUNDARY}\r\ncontent-disposition: form-data; name="${name}"`,
    fileName === undefined ? '' : `; filename="${fileName}"\r\ncontent-type: audio/wav`,
    '\r\n\r\n',
    value,
    '\r\n',
  ]);
  return Buffer.concat([...pieces, `--${BOUNDARY}--\r\n`].map((piece) => Buffer.from(piece)));
}
