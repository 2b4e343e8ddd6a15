/**
 * Ends a connection on which more arrives for one request than any answer needs. undici bounds the body and
 * the headers of an answer, but not interim answers, status lines, blank lines and extensions of chunks:
 * those could be sent without end, and cost a processor's time as long as the request may last.
 */
import type { Socket } from 'node:net'

/** More arrived than an answer may have. */
export class AnswerTooLong extends Error {
  override readonly name = 'AnswerTooLong'
  readonly code = 'ANSWER_TOO_LONG'
}

/** Counted anew with each request; only one is in flight on a connection. */
export function boundBytes(socket: Socket, maxBytes: number): void {
  let written = socket.bytesWritten
  let before = socket.bytesRead
  let read = before
  socket.on('readable', () => {
    // What had been read when this request was written belonged to others.
    if (socket.bytesWritten !== written) before = read
    written = socket.bytesWritten
    read = socket.bytesRead
    if (read - before > maxBytes) socket.destroy(new AnswerTooLong('the answer has no end'))
  })
}
