// Boxes with round corners, capsules and discs with soft edges: what travels, and cards.
// shape: radius, width of the edge, how far inside the edge's middle lies.
out vec2 p;
flat out vec4 box, inside, edge;
flat out vec3 form;

void main() {
    float grow = ceil(shape.y * 0.5 + 1.0);
    p = mix(place.xy - grow, place.zw + grow, corner());
    box = place;
    inside = fill;
    edge = stroke;
    form = shape.xyz;
    gl_Position = on_screen(p);
}
