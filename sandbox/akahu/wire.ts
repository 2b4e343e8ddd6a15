/**
 * The JSON of the Akahu emulator: amounts are JSON numbers whose digits are chosen by the data
 * (`30252.859999999997`, `1.50`, `-0`), so they are kept as text and written unchanged. It knows shapes, not
 * people or rules.
 */
import type { EmulatorReply } from '../emulator.ts'

// ES2025 source text access is not in the compiler's library yet.
const { rawJSON } = JSON as unknown as { rawJSON(text: string): unknown }

/** Writes the text as a JSON number token, exactly as it stands. */
export function numberToken(text: string): unknown {
  return rawJSON(text)
}

/** `{success:true, item}`. */
export function itemReply(item: unknown): EmulatorReply {
  return { status: 200, body: { success: true, item } }
}

/** `{success:true, items}`, with a cursor where the list is paged. */
export function itemsReply(items: readonly unknown[], next?: string | null): EmulatorReply {
  const cursor = next === undefined ? {} : { cursor: { next } }
  return { status: 200, body: { success: true, items, ...cursor } }
}

/** `{success:false, message}` with the status that the page names for it. */
export function refusal(status: number, message: string): EmulatorReply {
  return { status, body: { success: false, message } }
}
