/**
 * The bytes of an answered call: the same that the protocol library would write. The text block and the
 * structure are made of one serialised body. Those of cached answers are kept, so that a repeated call only
 * adds its id.
 */
import { isAscii } from 'node:buffer'
import { makeKeptForms } from '../kept-forms.ts'
import type { ResultForm } from './call-tool.ts'
import type { Era } from './checked-server.ts'
import type { ServerInfo } from './protocol.ts'
import { describeAnswer, describeError, type ResultTexts } from './result.ts'

/**
 * An answer up to the end of what does not depend on its request: text if it is short and ASCII, else bytes.
 */
export type Frame = string | Uint8Array

/** Above this, copying a text costs more than writing it together with the headers saves. */
const maxTextLength = 8192
/** The bound of all kept frames together. */
const maxKeptBytes = 8 * 1024 * 1024

/** The form in which the lane gets results. `maxAnswerBytes`: `MCP_MAX_ANSWER_BYTES`. */
export function makeFrames(maxAnswerBytes: number, maxBytes = maxKeptBytes): ResultForm<Frame> {
  const kept = makeKeptForms<Frame>(maxBytes, (frame) => frame.length)
  return {
    answer(operation, answer, about) {
      // The line of a page that ends earlier differs from that of the same page as it was asked for.
      const isKept = answer.cache === 'HIT' && !about.isShorter
      const known = isKept ? kept.get(answer.body) : undefined
      if (known !== undefined) return { result: known }
      const described = describeAnswer(operation, answer, { maxBytes: maxAnswerBytes, ...about })
      if ('limit' in described) return described
      const frame = toFrame(described)
      if (isKept) kept.set(answer.body, frame)
      return { result: frame }
    },
    error: (error, requestId) => toFrame(describeError(error, requestId)),
  }
}

function toFrame({ json, text, line, isError }: ResultTexts): Frame {
  const blocks = [text, line].map((block) => `{"type":"text","text":${JSON.stringify(block)}}`)
  const error = isError ? ',"isError":true' : ''
  const frame = `{"result":{"content":[${blocks.join(',')}],"structuredContent":${json}${error}`
  const bytes = Buffer.from(frame)
  // Joined of many parts, the text would be copied at every use; decoded from bytes it is one piece.
  return frame.length <= maxTextLength && isAscii(bytes) ? bytes.toString('latin1') : bytes
}

/** What follows the frame: what the era adds to every result, and the id of the request. */
export function makeEndings(info: ServerInfo): (era: Era, id: string | number) => string {
  const meta = JSON.stringify({ 'io.modelcontextprotocol/serverInfo': info })
  const added: Readonly<Record<Era, string>> = {
    2025: '',
    2026: `,"resultType":"complete","_meta":${meta}`,
  }
  return (era, id) => `${added[era]}},"jsonrpc":"2.0","id":${JSON.stringify(id)}}`
}
