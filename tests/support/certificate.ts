/**
 * A key and a certificate that it signed for itself, made anew for each run: none lies in the repository.
 * Only what a test of TLS needs (RFC 5280 §4.1), for ECDSA on P-256.
 */
import { generateKeyPairSync, randomBytes, sign } from 'node:crypto'

export interface Certificate {
  /** PEM. */
  readonly key: string
  readonly cert: string
}

/** @param name the only DNS name that it is valid for. */
export function makeCertificate(name: string): Certificate {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const algorithm = seq(oid('2a8648ce3d040302'))
  const day = 86_400_000
  const valid = seq(utcTime(Date.now() - day), utcTime(Date.now() + day))
  const subject = seq(set(seq(oid('550403'), tlv(0x0c, Buffer.from(name)))))
  const names = seq(oid('551d11'), tlv(0x04, seq(tlv(0x82, Buffer.from(name)))))
  const body = seq(
    tlv(0xa0, tlv(0x02, Buffer.from([2]))),
    tlv(0x02, Buffer.concat([Buffer.from([1]), randomBytes(8)])),
    algorithm,
    subject,
    valid,
    subject,
    publicKey.export({ type: 'spki', format: 'der' }),
    tlv(0xa3, seq(names)),
  )
  const signature = sign('sha256', body, privateKey)
  const der = seq(body, algorithm, tlv(0x03, Buffer.concat([Buffer.from([0]), signature])))
  // A blank line, as after a last line of full length, is not read as PEM (RFC 7468 §3).
  const lines = der.toString('base64').replace(/.{64}(?=.)/g, '$&\n')
  return {
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    cert: `-----BEGIN CERTIFICATE-----\n${lines}\n-----END CERTIFICATE-----\n`,
  }
}

/** Type, length and value of ASN.1 (X.690). */
function tlv(type: number, value: Buffer): Buffer {
  const { length } = value
  const size =
    length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length & 255]
  return Buffer.concat([Buffer.from([type, ...size]), value])
}

const seq = (...parts: readonly Buffer[]) => tlv(0x30, Buffer.concat(parts))
const set = (...parts: readonly Buffer[]) => tlv(0x31, Buffer.concat(parts))
const oid = (hex: string) => tlv(0x06, Buffer.from(hex, 'hex'))

function utcTime(ms: number): Buffer {
  const digits = new Date(ms).toISOString().replace(/[^\d]/g, '').slice(2, 14)
  return tlv(0x17, Buffer.from(`${digits}Z`))
}
