/**
 * A QR code as inline SVG, drawn on the server: one path, black on white in both themes, because cameras
 * expect it so. It has no style attribute, which the content security policy refuses.
 */
import { encode } from 'uqr'
import { type Html, html } from '../html.ts'

/** ISO/IEC 18004 §9.1: the quiet zone is four modules wide. */
const quietModules = 4

/** @param label what the picture is for, for those who cannot see it. */
export function renderQrCode(content: string, label: string): Html {
  const { data, size } = encode(content, { ecc: 'M', border: quietModules })
  const path = data.flatMap((row, y) =>
    row.map((isDark, x) => (isDark ? `M${x} ${y}h1v1h-1z` : '')),
  )
  return html`<svg class="qr" role="img" aria-label="${label}" viewBox="0 0 ${size} ${size}" shape-rendering="crispEdges">
<rect width="${size}" height="${size}" fill="#fff"/>
<path d="${path.join('')}" fill="#000"/>
</svg>`
}
