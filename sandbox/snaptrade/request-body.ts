/**
 * Reads the JSON bodies that are sent to the emulator. It validates no field: every route
 * validates its own.
 */

/** The body as an object with text fields, or null. */
export function readObject(body: string): Record<string, unknown> | null {
  try {
    const value: unknown = body === '' ? {} : JSON.parse(body)
    const plain = typeof value === 'object' && value !== null && !Array.isArray(value)
    return plain ? (value as Record<string, unknown>) : null
  } catch {
    return null
  }
}
