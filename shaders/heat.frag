in vec2 p;
flat in ivec4 size;
flat in float radius;
uniform highp usampler2D table;  // 1,024 numbers a row

uint number(int at) { return texelFetch(table, ivec2(at & 1023, at >> 10), 0).r; }

// Of one pixel along an axis: cell, pixels to its near and its far end. Between cells the cell is 65535.
ivec3 line_of(int at) {
    uint found = number(at);
    return ivec3(int(found & 65535u), int(found >> 16 & 255u), int(found >> 24));
}

void main() {
    ivec2 at = clamp(ivec2(floor(p)), ivec2(0), size.xy - 1);
    ivec3 column = line_of(size.w + at.x), row = line_of(size.w + size.x + at.y);
    if (column.x == 65535 || row.x == 65535) discard;
    uint cell = number(size.w + size.x + size.y + row.x * size.z + column.x);
    vec2 end = vec2(min(column.y, column.z), min(row.y, row.z)) + 0.5;  // from the pixel's middle
    // A corner is round by at most half of its cell.
    float r = min(radius, 0.5 * (1.0 + float(min(column.y + column.z, row.y + row.z))));
    vec2 d = max(vec2(r) - end, 0.0);
    float cover = r > 0.0 && d.x > 0.0 && d.y > 0.0 ? covered(length(d) - r) : 1.0;
    vec4 hue = vec4(float(cell & 255u), float(cell >> 8 & 255u), float(cell >> 16 & 255u), float(cell >> 24)) / 255.0;
    colour = over(hue, cover, vec4(0.0));
}
