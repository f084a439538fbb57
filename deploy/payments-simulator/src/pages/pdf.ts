/** Returns a PDF of one page with these lines of text. Characters beyond Latin-1 become question marks. */
export function toPdf(lines: readonly string[]): Buffer {
  const shown = lines.map((line) => `(${toPdfText(line)}) Tj T*`).join('\n');
  const content = `BT /F1 11 Tf 56 780 Td 16 TL\n${shown}\nET`;
  const objects = [
    '<< /Type /Catalog /Pages 2 0 R >>',
    '<< /Type /Pages /Kids [3 0 R] /Count 1 >>',
    '<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 5 0 R /Resources << /Font << /F1 4 0 R >> >> >>',
    '<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>',
    `<< /Length ${Buffer.byteLength(content, 'latin1')} >>\nstream\n${content}\nendstream`,
  ];
  let file = '%PDF-1.4\n';
  const offsets = objects.map((object, index) => {
    const offset = Buffer.byteLength(file, 'latin1');
    file += `${index + 1} 0 obj\n${object}\nendobj\n`;
    return offset;
  });
  const table = offsets.map((offset) => `${String(offset).padStart(10, '0')} 00000 n \n`).join('');
  const start = Buffer.byteLength(file, 'latin1');
  file += `xref\n0 ${objects.length + 1}\n0000000000 65535 f \n${table}`;
  file += `trailer\n<< /Size ${objects.length + 1} /Root 1 0 R >>\nstartxref\n${start}\n%%EOF\n`;
  return Buffer.from(file, 'latin1');
}

/** WinAnsi has the euro sign at a place of its own. */
const toPdfText = (line: string): string =>
  line
    .replaceAll(/[\\()]/g, '\\$&')
    .replaceAll('€', '\\200')
    .replaceAll('\u00a0', ' ')
    .replaceAll(/[^\x20-\xff]/g, '?');
