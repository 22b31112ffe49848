// One straight piece of a dashed path. shape: how far along the path it begins, width of the line.
// more: drawn, skipped, drawn, skipped, pixels.
out vec2 at;  // pixels along the path and across it
flat out vec4 inside, pattern;
flat out float width;

void main() {
    vec2 way = place.zw - place.xy;
    float whole = max(length(way), 0.001);
    vec2 along = way / whole, k = corner();
    float across = (k.y - 0.5) * (shape.y + 2.0);
    at = vec2(shape.x + k.x * whole, across);
    inside = fill;
    pattern = more;
    width = shape.y;
    gl_Position = on_screen(place.xy + along * (k.x * whole) + vec2(-along.y, along.x) * across);
}
