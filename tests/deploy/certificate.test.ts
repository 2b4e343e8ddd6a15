import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeCertificate } from '#tests/support/certificate.ts'

test('a certificate of any length has lines of 64 characters and no blank one', () => {
  for (let length = 1; length <= 48; length += 1) {
    const { cert } = makeCertificate('a'.repeat(length))
    const lines = cert.trimEnd().split('\n').slice(1, -1)
    const last = lines.pop() ?? ''
    assert.ok(
      lines.every((line) => line.length === 64),
      cert,
    )
    assert.ok(last.length > 0 && last.length <= 64, cert)
  }
})
